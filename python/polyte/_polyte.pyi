"""The extension module. Use the package polyte, which checks and documents what it passes on."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

class TensorInfo:
    """A tensor of a kernel's interface."""
    @property
    def name(self) -> str:
        """As the Program calls it."""
    @property
    def role(self) -> str:
        """What the Program declares: "in", "const", "out" or "inout"."""
    @property
    def dtype(self) -> str:
        """The element type's name, "f32"."""
    @property
    def shape(self) -> Tuple[Union[int, str], ...]:
        """In elements; of an open size its name or expression."""

class DeviceArray:
    """An array in a GPU's memory, dense. torch, jax and cupy take it without a copy."""
    def numpy(self) -> Any:
        """A copy in this processor's memory, after what still computes it."""
    def __dlpack__(self, stream: Any = None, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]: ...
    @property
    def dtype(self) -> str:
        """The element type's name, "f32"."""
    @property
    def shape(self) -> Tuple[int, ...]:
        """In elements."""

def to_device(array: Any, device: int = 0, driver: str = "") -> DeviceArray:
    """A copy of the array in the memory of the GPU of that number. `driver`: the library of the
    CUDA driver, where it is not libcuda.so.1."""

class Kernel:
    """A compiled Program. Calls may come from several threads."""
    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """Arrays in the order of the tensors that are read, or by name; those that are dense
        are not copied. Outputs are new, or those of `out`."""
    def wait(self) -> None:
        """Of a kernel for a GPU: waits for all calls in streams, and raises what they found."""
    def bind(self, **constants: Any) -> "Kernel":
        """The kernel with these const tensors packed for good: they are no arguments any more."""
    def save(self, path: Any) -> None:
        """To a file that polyte.load() runs without the compiler's work."""
    @property
    def tensors(self) -> Tuple[TensorInfo, ...]:
        """The interface, in the Program's order."""
    @property
    def sizes(self) -> Dict[str, Tuple[int, int]]:
        """Those that are open, by name: the least and the most that each may be."""
    @property
    def notes(self) -> Tuple[str, ...]:
        """What was not done as asked."""
    @property
    def script(self) -> str:
        """The schedule, as text that compiles to it again."""
    @property
    def directives(self) -> str:
        """The same, one step per line, with who chose it."""
    @property
    def loops(self) -> str:
        """The loops that it led to."""
    @property
    def threads(self) -> int:
        """How many threads share a call."""
    @property
    def scheduler(self) -> str:
        """Whose schedule it has: "naive" where what was asked declined."""
    @property
    def declined(self) -> Optional[Tuple[str, str]]:
        """Why what was asked declined, and where; None where it did not."""

class Program:
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def sizes(self) -> List[str]: ...
    @property
    def tensors(self) -> List[Tuple[str, str, str, Tuple[Union[int, str], ...]]]: ...
    def size_named(self, name: str) -> Optional[str]: ...

Checked = Tuple[str, str, List[str], List[str]]

def parse_notation(text: str, dtype: str) -> Program: ...
def parse_program(text: str, origin: str) -> Program: ...
def compile(program: Program, options: Dict[str, Any], threads: int) -> Kernel: ...
def load_kernel(path: str, threads: int) -> Kernel: ...
def check(program: Program, options: Dict[str, Any]) -> Checked: ...
def write_script(program: Program, options: Dict[str, Any]) -> Checked: ...

Told = Tuple[int, str, str, Optional[Dict[str, Any]]]

def check_program(program: Program, options: Dict[str, Any], by_execution: bool) -> Told: ...
def check_model(
    path: str, group: str, shapes: Sequence[str], options: Dict[str, Any], by_execution: bool
) -> Told: ...
def check_bits(path: str, shapes: Sequence[str], target: str) -> Tuple[int, str, str]: ...
def dependences(
    program: Program, sizes: Dict[str, int], statements: Sequence[str], every: bool
) -> Tuple[str, str]: ...
def dependence_picture(
    program: Program, sizes: Dict[str, int], statements: Sequence[str]
) -> str: ...
def directive_words() -> List[str]: ...
def did_you_mean(word: str, words: Sequence[str]) -> str: ...

Interval = Tuple[float, float, float]

def median_interval(samples: Sequence[Sequence[float]]) -> Interval: ...
def paired_ratio(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Interval: ...

class Network:
    def run(self, inputs: Dict[str, Any]) -> Dict[str, Any]: ...
    @property
    def compilations(self) -> int: ...
    @property
    def notes(self) -> List[str]: ...

class Session:
    def __init__(self, artifact: str, threads: int) -> None: ...
    def run(self, inputs: Dict[str, Any], out: Dict[str, Any]) -> Dict[str, Any]: ...
    @property
    def inputs(self) -> List[Tuple[str, str, Tuple[int, ...]]]: ...
    @property
    def outputs(self) -> List[Tuple[str, str, Tuple[int, ...]]]: ...
    @property
    def threads(self) -> int: ...

def open_network(onnx: str, options: Dict[str, Any], threads: int) -> Network: ...
def compile_model(
    onnx: str, artifact: str, options: Dict[str, Any]
) -> Tuple[List[Tuple[str, ...]], Sequence[str]]: ...
def lab_run(
    experiment: str, origin: str, folder: str, worker: Sequence[str], say: Callable[[str], Any]
) -> bool: ...
def lab_work(folder: str, order: str) -> None: ...
def lab_report(folder: str, format: str) -> str: ...
def lab_compare(
    before: str, after: str, filter: str, min_effect: float
) -> Tuple[str, str, bool]: ...
