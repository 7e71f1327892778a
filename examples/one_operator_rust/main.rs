// A matrix product from one line of index notation, compiled and called through Polyte's C API, by
// what bindgen makes of its header.
#![allow(dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals)]

use std::ffi::{c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

include!("polyte.rs");

const M: usize = 4;
const N: usize = 6;
const K: usize = 3;

// What went wrong, in the library's words; every function of the table is there.
fn told(api: &polyte_compiler_api, status: c_int, failure: *mut polyte_failure) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    unsafe {
        let text = CStr::from_ptr(api.failure_text.unwrap()(failure)).to_string_lossy().into_owned();
        api.failure_free.unwrap()(failure);
        Err(text)
    }
}

fn product(api: &polyte_compiler_api) -> Result<(), String> {
    let c_string = |text: &str| CString::new(text).unwrap();
    let (mut program, mut kernel, mut execution) = (null_mut(), null_mut(), null_mut());
    let mut failure = null_mut();
    let (notation, dtype) = (c_string("C[m,n] = sum[k] A[m,k]*B[k,n]"), c_string("f32"));
    let a: Vec<f32> = (0..M * K).map(|i| i as f32).collect();
    let b = vec![1f32; K * N];
    let mut c = vec![0f32; M * N];
    unsafe {
        let status = api.program_from_notation.unwrap()(
            notation.as_ptr(), dtype.as_ptr(), &mut program, &mut failure);
        told(api, status, failure)?;
        let options = api.options_new.unwrap()();
        for (name, size) in [("size.m", M), ("size.n", N), ("size.k", K)] {
            let (name, size) = (c_string(name), c_string(&size.to_string()));
            let status =
                api.options_set.unwrap()(options, name.as_ptr(), size.as_ptr(), &mut failure);
            told(api, status, failure)?;
        }
        let status = api.compile.unwrap()(program, options, &mut kernel, &mut failure);
        told(api, status, failure)?;
        let status = api.execution_new.unwrap()(
            kernel, null_mut(), 1, null(), &mut execution, &mut failure);
        told(api, status, failure)?;
        let data: [*mut c_void; 3] =
            [a.as_ptr() as *mut c_void, b.as_ptr() as *mut c_void, c.as_mut_ptr() as *mut c_void];
        told(api, api.execution_run.unwrap()(execution, data.as_ptr(), 3, &mut failure), failure)?;
        let scheduler =
            CStr::from_ptr(api.kernel_text.unwrap()(kernel, polyte_kernel_text_POLYTE_SCHEDULER as c_int));
        println!("C[1, 0] = {}, by {}", c[N], scheduler.to_string_lossy());
        api.execution_free.unwrap()(execution);
        api.kernel_free.unwrap()(kernel);
        api.options_free.unwrap()(options);
        api.program_free.unwrap()(program);
    }
    Ok(())
}

fn main() {
    let api = unsafe { polyte_compiler_get_api(POLYTE_COMPILER_API_VERSION).as_ref() };
    let done = api.ok_or("the library is older than its header".to_string()).and_then(product);
    if let Err(text) = done {
        eprintln!("{text}");
        std::process::exit(1);
    }
}
