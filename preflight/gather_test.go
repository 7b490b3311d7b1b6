package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestDanglingLinks: a hardening script removes /etc/sysctl.conf, but not the link to it,
// 99-sysctl.conf. The facts still have the rest of the configuration.
func TestDanglingLinks(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"etc/sysctl.d/50-site.conf":                      "net.ipv4.ip_forward = 0\n",
		"etc/modprobe.d/cis.conf":                        "install vxlan /bin/false\n",
		"etc/systemd/system/service.d/10-umask.conf":     "[Service]\nUMask=0077\n",
		"etc/systemd/system/crio.service.d/20-mask.conf": "[Service]\nUMask=0027\n",
	} {
		dir := filepath.Join(root, filepath.Dir(file))
		err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(root, file), []byte(text), 0o644), os.Symlink("../gone", filepath.Join(dir, "99-gone.conf")))
		if err != nil {
			t.Fatal(err)
		}
	}
	r, f := reader{fs: os.DirFS(root)}, Facts{}
	errSysctls := readSysctls(t.Context(), r, &f)
	errModules := readBlocked(t.Context(), r, &f)
	if err := errors.Join(errSysctls, errModules, readUmask(t.Context(), r, &f)); err != nil {
		t.Fatal(err)
	}
	if f.sysctl(forwardingParameter).Boot != "0" || len(f.Boot.Blocked) != 1 || f.Boot.Blocked[0].Module != "vxlan" || f.Umask.Units != "0077" || f.Umask.Own["crio"] != "0027" {
		t.Errorf("%v, %v, %+v", f.Sysctls, f.Boot.Blocked, f.Umask)
	}
}
