# Runs as the last cell of every notebook, in its kernel, and is removed from the saved notebook:
# the versions and BLAS that really computed the results, not those of the process that watched.
def _probe():
    import platform
    import sys
    from importlib import metadata

    from IPython.display import display

    names = ["numpy", "scipy", "torch", "pandas", "matplotlib", "paperlib"]
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    blas = {}
    for name in ("numpy", "scipy"):
        if name in sys.modules:
            found = sys.modules[name].show_config(mode="dicts")["Build Dependencies"]["blas"]
            blas[name] = f"{found['name']} {found['version']}"
    if "torch" in sys.modules:
        lines = [line.strip() for line in sys.modules["torch"].__config__.show().splitlines()]
        kernels = [line for line in lines if "Math Kernel Library" in line or "OpenBLAS" in line]
        blas["torch"] = kernels[0].lstrip("- ").split(" for ")[0] if kernels else "unknown"
    display({"application/x-provenance+json": {"versions": versions, "blas": blas}}, raw=True)


_probe()
