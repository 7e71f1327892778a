# cmake -DMODULE=file -DOUT=source.cc -P embed_digest.cmake: a C++ source with the file's SHA-256.
file(SHA256 "${MODULE}" digest)
file(WRITE "${OUT}"
     "namespace polyte::codegen {\n"
     "extern const char* const kModuleDigest;\n"
     "const char* const kModuleDigest = \"${digest}\";\n"
     "}\n")
