"""Mount a file system of another computer that does not answer: every access waits."""
import ctypes
import os
import time

if not os.path.exists("/dev/fuse"):
    os.mknod("/dev/fuse", 0o20600, os.makedev(10, 229))
libc = ctypes.CDLL(None, use_errno=True)
requests = os.open("/dev/fuse", os.O_RDWR)
os.makedirs("/mnt/archive", exist_ok=True)
options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % requests
if libc.mount(b"nas.bank.example:/archive", b"/mnt/archive", b"fuse.nas", 0, options.encode()):
    raise OSError(ctypes.get_errno(), "mount")
time.sleep(7200)
