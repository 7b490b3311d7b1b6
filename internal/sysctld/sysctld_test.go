package sysctld

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files is a root file system: paths and their text.
type files map[string]string

func (f files) boot(t *testing.T) *Boot {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range f {
		root[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	b, err := Read(root)
	require.NoError(t, err)
	return b
}

const forward = "net.ipv4.ip_forward"

func TestOf(t *testing.T) {
	const el8, el9 = "ID=\"rocky\"\nVERSION_ID=\"8.10\"\n", "VERSION_ID=\"9.6\"\n"
	for _, test := range []struct {
		about string
		files files
		name  string
		want  string // "value at file:line"; "" for no setting
	}{
		{"no file", files{}, forward, ""},
		{"the last file by name", files{"etc/sysctl.d/10-a.conf": forward + "=0", "usr/lib/sysctl.d/90-b.conf": "\n# x\n" + forward + " = 1 \n"}, forward, "1 at /usr/lib/sysctl.d/90-b.conf:3"},
		{"the last line", files{"etc/sysctl.d/10-a.conf": forward + "=0\n" + forward + "=1\n"}, forward, "1 at /etc/sysctl.d/10-a.conf:2"},
		{"a file in /usr/local/lib", files{"usr/local/lib/sysctl.d/99-z.conf": forward + "=0", "etc/sysctl.d/50-a.conf": forward + "=1"}, forward, "0 at /usr/local/lib/sysctl.d/99-z.conf:1"},
		{"/etc hides /run", files{"etc/sysctl.d/a.conf": forward + "=1", "run/sysctl.d/a.conf": forward + "=0"}, forward, "1 at /etc/sysctl.d/a.conf:1"},
		{"/run hides /usr/local/lib", files{"run/sysctl.d/a.conf": forward + "=1", "usr/local/lib/sysctl.d/a.conf": forward + "=0"}, forward, "1 at /run/sysctl.d/a.conf:1"},
		{"/usr/local/lib hides /usr/lib", files{"usr/local/lib/sysctl.d/a.conf": "", "usr/lib/sysctl.d/a.conf": forward + "=0"}, forward, ""},
		{"/lib without a link", files{"lib/sysctl.d/a.conf": forward + "=0"}, forward, "0 at /lib/sysctl.d/a.conf:1"},
		{"other names", files{"etc/sysctl.d/README": forward + "=0", "etc/sysctl.d/.a.conf": forward + "=0", "etc/sysctl.d/a.conf.rpmsave": forward + "=0"}, forward, ""},
		{"sysctl.conf without a link", files{"etc/sysctl.conf": forward + "=0"}, forward, ""},
		{"sysctl.conf with a link", files{"etc/sysctl.conf": "# x\n" + forward + "=0", "etc/sysctl.d/99-sysctl.conf": "# x\n" + forward + "=0"}, forward, "0 at /etc/sysctl.conf:2"},
		{"another 99-sysctl.conf", files{"etc/sysctl.conf": forward + "=0", "etc/sysctl.d/99-sysctl.conf": forward + "=1"}, forward, "1 at /etc/sysctl.d/99-sysctl.conf:1"},
		{"comments and broken lines", files{"etc/sysctl.d/a.conf": "#" + forward + "=0\n;" + forward + "=0\n" + forward + "\n=0\n"}, forward, ""},
		{"errors are ignored", files{"etc/sysctl.d/a.conf": "-" + forward + " = 0"}, forward, "0 at /etc/sysctl.d/a.conf:1"},
		{"a line end of DOS", files{"etc/sysctl.d/a.conf": forward + " = 0\r\n"}, forward, "0 at /etc/sysctl.d/a.conf:1"},
		{"slashes", files{"etc/sysctl.d/a.conf": "net/ipv4/ip_forward=0"}, forward, "0 at /etc/sysctl.d/a.conf:1"},
		{"another name of the parameter", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.all.forwarding=0"}, forward, "0 at /etc/sysctl.d/a.conf:1"},
		{"another name, and a value that keeps its place", files{"etc/sysctl.d/10.conf": forward + "=1", "etc/sysctl.d/20.conf": "net/ipv4/conf/all/forwarding=0",
			"etc/sysctl.d/30.conf": forward + "=1"}, forward, "0 at /etc/sysctl.d/20.conf:1"},
		{"an interface with a dot", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.bond0/100.rp_filter=1"}, "net/ipv4/conf/bond0.100/rp_filter", "1 at /etc/sysctl.d/a.conf:1"},
		{"a dot in a name with slashes", files{"etc/sysctl.d/a.conf": "net/ipv4/conf/bond0.100/rp_filter=1"}, "net.ipv4.conf.bond0/100.rp_filter", "1 at /etc/sysctl.d/a.conf:1"},

		{"a glob", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.*.rp_filter=1"}, "net.ipv4.conf.all.rp_filter", "1 at /etc/sysctl.d/a.conf:1"},
		{"a glob for a parameter with another name", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.*.forwarding=0"}, forward, "0 at /etc/sysctl.d/a.conf:1"},
		{"a glob with a set", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.[!da]*.rp_filter=1"}, "net.ipv4.conf.default.rp_filter", ""},
		{"a glob does not match a slash", files{"etc/sysctl.d/a.conf": "net.ipv4.*.rp_filter=1"}, "net.ipv4.conf.all.rp_filter", ""},
		{"an exclusion", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.*.rp_filter=1\n-net.ipv4.conf.all.rp_filter"}, "net.ipv4.conf.all.rp_filter", ""},
		{"an exclusion replaces a value", files{"etc/sysctl.d/a.conf": "kernel.panic=1\n-kernel.panic"}, "kernel.panic", ""},
		{"a line of its own wins over a later glob", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.all.rp_filter=2\nnet.ipv4.conf.*.rp_filter=1"}, "net.ipv4.conf.all.rp_filter",
			"2 at /etc/sysctl.d/a.conf:1"},
		{"a broken glob", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.[.rp_filter=1"}, "net.ipv4.conf.all.rp_filter", ""},
		{"EL 8 knows no globs", files{"etc/os-release": el8, "etc/sysctl.d/a.conf": "net.ipv4.conf.*.rp_filter=1"}, "net.ipv4.conf.all.rp_filter", ""},
		{"EL 9 knows globs", files{"usr/lib/os-release": el9, "etc/sysctl.d/a.conf": "net.ipv4.conf.*.rp_filter=1"}, "net.ipv4.conf.all.rp_filter", "1 at /etc/sysctl.d/a.conf:1"},

		{"an interface copies the default", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.default.rp_filter=1"}, "net.ipv4.conf.ens192.rp_filter", "1 at /etc/sysctl.d/a.conf:1"},
		{"its own line wins", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.ens192.rp_filter=2\nnet.ipv4.conf.default.rp_filter=1"}, "net.ipv4.conf.ens192.rp_filter", "2 at /etc/sysctl.d/a.conf:1"},
		{"forwarding changes the default", files{"etc/sysctl.d/a.conf": "net.ipv4.conf.default.forwarding=0\n" + forward + "=1"}, "net.ipv4.conf.cni0.forwarding", "1 at /etc/sysctl.d/a.conf:2"},
		{"the default after forwarding", files{"etc/sysctl.d/a.conf": forward + "=1\nnet.ipv4.conf.default.forwarding=0"}, "net.ipv4.conf.cni0.forwarding", "0 at /etc/sysctl.d/a.conf:2"},
	} {
		t.Run(test.about, func(t *testing.T) { assert.Equal(t, test.want, shown(test.files.boot(t).Of(test.name))) })
	}
}

func shown(s Setting, is bool) string {
	if !is {
		return ""
	}
	return s.Value + " at " + s.At()
}

func TestCommandLine(t *testing.T) {
	const el9, el8 = "5.14.0-570.el9.x86_64\n", "4.18.0-553.el8.x86_64\n"
	for _, test := range []struct{ about, release, line, file, name, want string }{
		{"dots", el9, "ro sysctl.net.ipv4.ip_forward=0 quiet", "", forward, "0 at /proc/cmdline"},
		{"slashes", el9, "sysctl/net/ipv4/ip_forward=0", "", forward, "0 at /proc/cmdline"},
		{"quotes", el9, `sysctl.kernel.core_pattern="|/bin/false x"`, "", "kernel.core_pattern", "|/bin/false x at /proc/cmdline"},
		{"a file wins", el9, "sysctl.net.ipv4.ip_forward=0", forward + "=1", forward, "1 at /etc/sysctl.d/a.conf:1"},
		{"for init", el9, "ro -- sysctl.net.ipv4.ip_forward=0", "", forward, ""},
		{"an older kernel", el8, "sysctl.net.ipv4.ip_forward=0", "", forward, ""},
		{"a module is not loaded yet", el9, "sysctl.net.netfilter.nf_conntrack_max=1", "", "net.netfilter.nf_conntrack_max", ""},
	} {
		b := files{"proc/sys/kernel/osrelease": test.release, "proc/cmdline": test.line, "etc/sysctl.d/a.conf": test.file}.boot(t)
		assert.Equal(t, test.want, shown(b.Of(test.name)), test.about)
	}
}

// TestNextCommandLine: the boot loader's default entry counts, not the command line of now.
func TestNextCommandLine(t *testing.T) {
	const entry = "boot/loader/entries/1-5.14.0-570.el9.x86_64.conf"
	host := files{"proc/sys/kernel/osrelease": "4.18.0-553.el8.x86_64\n", "proc/cmdline": "sysctl.vm.swappiness=1",
		entry: "linux /vmlinuz-5.14.0-570.el9.x86_64\noptions ro sysctl.net.ipv4.conf.all.rp_filter=1\n"}
	s, is := host.boot(t).Of("net.ipv4.conf.all.rp_filter")
	assert.Equal(t, "true 1 at /"+entry+":2", fmt.Sprint(is, " ", s.Value, " at ", s.At()))
	_, is = host.boot(t).Of("vm.swappiness")
	assert.False(t, is, "the next boot does not set it")
}

func TestTuned(t *testing.T) {
	const active, main, units = "etc/tuned/active_profile", "etc/tuned/tuned-main.conf", "etc/systemd/system/multi-user.target.wants/"
	const profile = "usr/lib/tuned/p/tuned.conf"
	for _, test := range []struct {
		about string
		files files
		want  string // of kernel.panic
	}{
		{"the profile after the files", files{active: "p\n", profile: "[main]\nsummary=x\n[sysctl]\nkernel.panic=5 # x\n"}, "5 at /usr/lib/tuned/p/tuned.conf:4"},
		{"the files again", files{active: "p\n", profile: "[sysctl]\nkernel.panic=5\n", "etc/sysctl.d/a.conf": "kernel.panic=1"}, "1 at /etc/sysctl.d/a.conf:1"},
		{"not those of packages", files{active: "p\n", profile: "[sysctl]\nkernel.panic=5\n", "usr/lib/sysctl.d/a.conf": "kernel.panic=1"}, "5 at /usr/lib/tuned/p/tuned.conf:2"},
		{"sysctl.conf without a link", files{active: "p\n", profile: "[sysctl]\nvm.swappiness=5\n", "etc/sysctl.conf": "kernel.panic=1"}, "1 at /etc/sysctl.conf:1"},
		{"a profile without parameters", files{active: "p\n", profile: "[cpu]\ngovernor=performance\n", "etc/sysctl.conf": "kernel.panic=1"}, ""},
		{"reapply_sysctl is 0", files{active: "p\n", main: "reapply_sysctl = 0\n", profile: "[sysctl]\nkernel.panic=5\n", "etc/sysctl.d/a.conf": "kernel.panic=1"}, "5 at /usr/lib/tuned/p/tuned.conf:2"},
		{"a site's profile wins", files{active: "p", profile: "[sysctl]\nkernel.panic=5\n", "etc/tuned/p/tuned.conf": "[sysctl]\nkernel.panic=6\n"}, "6 at /etc/tuned/p/tuned.conf:2"},
		{"it includes the package's", files{active: "p", profile: "[sysctl]\nkernel.panic=5\n", "etc/tuned/p/tuned.conf": "[main]\ninclude=p\n"}, "5 at /usr/lib/tuned/p/tuned.conf:2"},
		{"two included profiles", files{active: "p", profile: "[main]\ninclude = a, b\n", "usr/lib/tuned/a/tuned.conf": "[sysctl]\nkernel.panic=5\n",
			"usr/lib/tuned/profiles/b/tuned.conf": "[x]\ntype=sysctl\nkernel.panic=6"}, "6 at /usr/lib/tuned/profiles/b/tuned.conf:3"},
		{"a circle", files{active: "p", profile: "[main]\ninclude=p\n[sysctl]\nkernel.panic=5\n"}, "5 at /usr/lib/tuned/p/tuned.conf:4"},
		{"replaced", files{active: "p", profile: "[main]\ninclude=a\n[sysctl]\nreplace=1\nvm.swappiness=1\n", "usr/lib/tuned/a/tuned.conf": "[sysctl]\nkernel.panic=5\n"}, ""},
		{"only raised", files{active: "p", profile: "[sysctl]\nkernel.panic=>5\n", main: "reapply_sysctl=0", "etc/sysctl.d/a.conf": "kernel.panic=9"}, "9 at /etc/sysctl.d/a.conf:1"},
		{"raised", files{active: "p", profile: "[sysctl]\nkernel.panic=>5\n", main: "reapply_sysctl=0", "etc/sysctl.d/a.conf": "kernel.panic=1"}, "5 at /usr/lib/tuned/p/tuned.conf:2"},
		{"a section of another plugin", files{active: "p", profile: "[sysctl]\nenabled=0\nkernel.panic=5\n[sysfs]\n/sys/a.b=1\n"}, ""},
		{"tuned is not enabled", files{active: "p", profile: "[sysctl]\nkernel.panic=5\n", units + "sshd.service": ""}, ""},
		{"tuned is enabled", files{active: "p", profile: "[sysctl]\nkernel.panic=5\n", units + "sshd.service": "", units + "tuned.service": ""}, "5 at /usr/lib/tuned/p/tuned.conf:2"},
		{"a name that leads out", files{active: "../../etc", "etc/tuned.conf": "[sysctl]\nkernel.panic=5\n"}, ""},
	} {
		t.Run(test.about, func(t *testing.T) { assert.Equal(t, test.want, shown(test.files.boot(t).Of("kernel.panic"))) })
	}
}

// TestMasks: a link to /dev/null and a dangling link hide the package's file.
func TestMasks(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc/sysctl.d/dir.conf", "usr/lib/sysctl.d"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, target := range map[string]string{"null.conf": "/dev/null", "gone.conf": "../gone"} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, "etc/sysctl.d", name)))
		require.NoError(t, os.WriteFile(filepath.Join(root, "usr/lib/sysctl.d", name), []byte("kernel.panic=1\n"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "usr/lib/sysctl.d/dir.conf"), []byte("kernel.panic_on_oops=1\n"), 0o600))
	b, err := Read(os.DirFS(root))
	require.NoError(t, err)
	assert.Empty(t, shown(b.Of("kernel.panic")))
	assert.Equal(t, "1 at /usr/lib/sysctl.d/dir.conf:1", shown(b.Of("kernel.panic_on_oops")), "a directory hides nothing")
}

func TestTooLarge(t *testing.T) {
	_, err := Read(fstest.MapFS{"etc/sysctl.d/a.conf": &fstest.MapFile{Data: []byte(strings.Repeat("#", maxFile+1)), Mode: 0o644}})
	assert.ErrorContains(t, err, "/etc/sysctl.d/a.conf")
}

// FuzzOf: a setting is a line of its file, and its key matches the parameter.
func FuzzOf(f *testing.F) {
	f.Add("net.ipv4.ip_forward = 0\n-net.ipv4.conf.*.forwarding = 1\n-net.ipv4.conf.all.forwarding\n", "net.ipv4.conf.bond0/100.forwarding", "[main]\ninclude=p\n[sysctl]\nkernel.panic=>1\n")
	f.Add("net/ipv4/conf/[!e]*/rp_filter=1\n", "net/ipv4/conf/ens192/rp_filter", "[x]\ntype=sysctl\na/b.c=1")
	f.Fuzz(func(t *testing.T, text, name, profile string) {
		b, err := Read(fstest.MapFS{
			"etc/sysctl.d/50-a.conf": &fstest.MapFile{Data: []byte(text)}, "etc/tuned/active_profile": &fstest.MapFile{Data: []byte("p")},
			"usr/lib/tuned/p/tuned.conf": &fstest.MapFile{Data: []byte(profile)}, "proc/cmdline": &fstest.MapFile{Data: []byte(text)},
			"proc/sys/kernel/osrelease": &fstest.MapFile{Data: []byte("6.12")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if s, is := b.Of(name); is {
			of := map[string]string{"/etc/sysctl.d/50-a.conf": text, "/usr/lib/tuned/p/tuned.conf": profile, "/proc/cmdline": text}[s.File]
			lines := strings.Split(of, "\n")
			if s.Line > len(lines) || !strings.Contains(of, s.Value) {
				t.Errorf("%q: %+v", name, s)
			}
		}
	})
}
