package facts

import (
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// switchedOff is a file system with a file that the kernel does not read.
type switchedOff struct {
	fs.FS

	name string
}

func (s switchedOff) Open(name string) (fs.File, error) {
	if name == s.name {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EOPNOTSUPP}
	}
	return s.FS.Open(name)
}

func TestKernelFeatures(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	host := func() fstest.MapFS {
		return fstest.MapFS{
			"proc/sys/kernel/osrelease":             file("5.14.0\n"),
			"boot/config-5.14.0":                    file("CONFIG_NF_TABLES=m\nCONFIG_OVERLAY_FS=m\nCONFIG_USER_NS=y\n"),
			"proc/sys/user/max_user_namespaces":     file("31230\n"),
			"sys/kernel/btf/vmlinux":                file("BTF"),
			"sys/fs/cgroup/init.scope/memory.high":  file("max\n"),
			"sys/fs/cgroup/user.slice/cgroup.procs": file(""),
			"proc/pressure/memory":                  file("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
		}
	}
	for name, c := range map[string]struct {
		change func(fstest.MapFS) fs.FS
		want   []string
	}{
		"all":                          {func(m fstest.MapFS) fs.FS { return m }, nil},
		"Enterprise Linux without psi": {func(m fstest.MapFS) fs.FS { return switchedOff{m, "proc/pressure/memory"} }, []string{"PSI"}},
		"no PSI in the kernel":         {func(m fstest.MapFS) fs.FS { delete(m, "proc/pressure/memory"); return m }, []string{"PSI"}},
		"cgroup v1":                    {func(m fstest.MapFS) fs.FS { delete(m, "sys/fs/cgroup/init.scope/memory.high"); return m }, []string{"memory.high"}},
		"Linux 4.18 without BTF":       {func(m fstest.MapFS) fs.FS { delete(m, "sys/kernel/btf/vmlinux"); return m }, []string{"BTF"}},
		"DISA STIG":                    {func(m fstest.MapFS) fs.FS { m["proc/sys/user/max_user_namespaces"] = file("0\n"); return m }, []string{"user namespaces"}},
		"a kernel without modules":     {func(m fstest.MapFS) fs.FS { m["boot/config-5.14.0"] = file("CONFIG_USER_NS=y\n"); return m }, []string{"nftables", "overlayfs"}},
	} {
		f := &Facts{}
		require.NoError(t, readKernelFeatures(t.Context(), reader{fs: c.change(host())}, f), name)
		assert.Equal(t, c.want, f.KernelFeatures.Missing(), name)
	}
	unknown := host()
	delete(unknown, "boot/config-5.14.0")
	require.ErrorContains(t, readKernelFeatures(t.Context(), reader{fs: unknown}, &Facts{}), "no configuration of the running kernel")
}
