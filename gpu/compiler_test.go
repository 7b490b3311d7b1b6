package gpu

import (
	"slices"
	"strings"
	"testing"
)

const next = "5.14.0-999.el9.x86_64"

// TestCompilerOf checks the compiler in a kernel's configuration, or in /proc/version for the running
// kernel.
func TestCompilerOf(t *testing.T) {
	for _, test := range []struct {
		name, kernel, config, version string
		want                          int
	}{
		{"EL's own", next, "CONFIG_CC_IS_GCC=y\nCONFIG_GCC_VERSION=110500\nCONFIG_CLANG_VERSION=0\n", "", 11},
		{"Oracle's", next, "CONFIG_GCC_VERSION=140201\n", "", 14},
		{"of one digit", next, "CONFIG_GCC_VERSION=80500\n", "", 8},
		{"clang's", next, "CONFIG_GCC_VERSION=0\n", "", 0},
		{"no configuration", next, "", "Linux version 6.12.0 (x) (gcc (GCC) 14.2.1 20250110", 0},
		{"no configuration, but it runs", runs, "", "Linux version 6.12.0 (x) (gcc (GCC) 14.2.1 20250110", 14},
		{"neither", runs, "", "", 0},
		{"too many digits", next, "CONFIG_GCC_VERSION=" + strings.Repeat("9", 40) + "\n", "", -1},
	} {
		m, s := newMachine(t)
		if test.config != "" {
			m.put(t, "lib/modules/"+test.kernel+"/build/.config", test.config)
		}
		if test.version != "" {
			m.put(t, "proc/version", test.version)
		}
		got, err := s.compilerOf(test.kernel)
		if test.want < 0 && err == nil || test.want >= 0 && (got != test.want || err != nil) {
			t.Errorf("%s: %d, %v, want %d", test.name, got, err, test.want)
		}
	}
}

// TestDKMSCompiler checks that DKMS builds with the compiler of each kernel, in airgap's run and in its
// unit at a boot, and that undo removes these settings.
func TestDKMSCompiler(t *testing.T) {
	m, s := withDriver(t)
	for _, kernel := range []string{runs, next} {
		m.put(t, "lib/modules/"+kernel+"/build/Makefile", "")
	}
	m.put(t, "usr/sbin/dkms", "")
	m.put(t, "usr/lib/systemd/system/"+dkmsUnit, "")
	m.put(t, "var/lib/dkms/nvidia/580.82.07/source/dkms.conf", "")
	m.put(t, "lib/modules/"+next+"/build/.config", "CONFIG_GCC_VERSION=140201\n")
	build := "dkms autoinstall -k " + next
	m.does(build, func() { m.put(t, "lib/modules/"+next+"/modules.dep", nvidiaDep) })

	st := DriverStep(s)
	if err := st.Run(t.Context()); err != nil || m.has(dkmsDropIn) || len(m.env[build]) > 0 {
		t.Fatalf("%v; without a toolset it ran with %q", err, m.env[build])
	}
	holds(t, st.Done, true)

	m.put(t, toolsetDir(14)+"/gcc", "")
	m.remove(t, "lib/modules/"+next+"/modules.dep")
	holds(t, st.Done, false)
	if plan, err := st.Plan(t.Context()); err != nil || !slices.Contains(plan, "write "+s.path(dkmsDropIn)) {
		t.Errorf("plan %q, %v", plan, err)
	}
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
	if env := m.env[build]; len(env) != 1 || !strings.HasPrefix(env[0], "PATH="+s.path(toolsetDir(14))+":") {
		t.Errorf("built with %q", env)
	}
	if got := m.get(dkmsDropIn); got != ours+"[Service]\nEnvironment=PATH=/opt/rh/gcc-toolset-14/root/usr/bin:"+systemPATH+"\n" || len(m.ran("systemctl daemon-reload")) != 1 {
		t.Errorf("the drop-in of DKMS is %q, ran %q", got, m.ran("systemctl"))
	}
	for range 2 {
		if err := DriverStep(Setup{Host: m, Root: m.root}).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if m.has(dkmsDropIn) || len(m.ran("systemctl daemon-reload")) != 2 {
		t.Errorf("the drop-in of DKMS remains after the undo, ran %q", m.ran("systemctl"))
	}
}
