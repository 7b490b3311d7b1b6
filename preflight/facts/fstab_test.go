package facts

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestParseFstab(t *testing.T) {
	entries, odd := parseFstab("/etc/fstab", strings.Join([]string{
		"# a comment", "", "  #indented", "UUID=1\t/\txfs defaults 0 0", `//nas/a\040b /mnt/a\040b cifs ro,username=u,Password=secret,uid=0 0 0`,
		`LABEL="etcd data" /var/lib/etcd xfs nofail,context="system_u:object_r:x_t:s0:c1,c2"` + "\r", "/dev/sdb2 none swap sw", "/dev/sdb3 /only-two", strings.Repeat("x", 5000), `/dev/sdb4 /tail\0 ext4`,
	}, "\n"))
	want := []FstabEntry{
		{"/etc/fstab", 4, "UUID=1", "/", "xfs", []string{"defaults"}},
		{"/etc/fstab", 5, "//nas/a b", "/mnt/a b", "cifs", []string{"ro", "username=u", "Password=***", "uid=0"}},
		{"/etc/fstab", 7, "/dev/sdb2", "none", "swap", []string{"sw"}},
		{"/etc/fstab", 10, "/dev/sdb4", `/tail\0`, "ext4", nil},
	}
	label := entries[2] // a blank in quotes is an escape in a correct file, and splits the line here
	entries = append(entries[:2:2], entries[3:]...)
	if !reflect.DeepEqual(entries, want) || label.Spec != `LABEL="etcd` {
		t.Errorf("got %+v and %+v, want %+v", entries, label, want)
	}
	if len(odd) != 2 || !strings.HasPrefix(odd[0], "/etc/fstab:8: less than 3 fields") || !strings.HasPrefix(odd[1], "/etc/fstab:9: the line is too long") {
		t.Errorf("odd lines: %q", odd)
	}
	if _, odd := parseFstab("f", strings.Repeat("\n", maxFstabLines+1)); len(odd) != 1 {
		t.Errorf("odd lines of a long file: %q", odd)
	}
	escaped, _ := parseFstab("f", `LABEL="etcd\040data" /a xfs nofail,context="a,b"`)
	if escaped[0].Spec != "LABEL=etcd data" || !escaped[0].Has("nofail") || !escaped[0].Has("context") || escaped[0].Has("fail") || len(escaped[0].Options) != 2 {
		t.Errorf("got %+v", escaped)
	}
}

func FuzzFstab(f *testing.F) {
	f.Add("UUID=1 / xfs defaults 0 0\n# x\n/dev/a /b\\040c ext4 ro,password=x\n")
	f.Add("a\tb\tc\t\"\n\\\\\\ \\777 \\0401 d")
	f.Fuzz(func(t *testing.T, text string) {
		entries, _ := parseFstab("/etc/fstab", text)
		lines := strings.Count(text, "\n") + 1
		for _, e := range entries {
			if e.Line < 1 || e.Line > lines || e.Spec == "" || e.Mount == "" || e.Type == "" {
				t.Errorf("%q gives %+v", text, e)
			}
			escapePath(e.Mount)
			diskLink(e.Spec)
		}
	})
}

// TestEscapePath: the names are those of systemd-escape --path.
func TestEscapePath(t *testing.T) {
	for path, want := range map[string]string{
		"/": "-", "/var/lib/etcd/": "var-lib-etcd", "/data/my-disk": `data-my\x2ddisk`, "/.snap/a b": `\x2esnap-a\x20b`, "/a.b": "a.b",
	} {
		if got := escapePath(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestMountUnits(t *testing.T) {
	unit := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const dir = "etc/systemd/system/"
	r := reader{fs: fstest.MapFS{
		dir + "var-lib-etcd.mount":                                unit("[Unit]\nWhere=/no\n[Mount]\n# Where=/x\nWhat=/dev/sdb1\nWhere=/var/lib/etcd\nOptions=noatime\n[Install]\nAlias=x\n"),
		dir + "local-fs.target.requires/var-lib-etcd.mount":       unit(""),
		dir + "var-lib-etcd.mount.d/10-options.conf":              unit("[Mount]\nOptions=nofail,password=secret\n"),
		dir + "var-lib-kubelet.mount":                             unit("[Mount]\nWhat=UUID=1\nWhere=/var/lib/kubelet\n"),
		dir + "var-lib-crio.mount":                                unit(""), // a link to /dev/null
		dir + "srv.mount":                                         unit("[Mount]\nWhere=/srv/\n"),
		dir + "multi-user.target.wants/srv.automount":             unit(""),
		dir + "wrong.mount":                                       unit("[Mount]\nWhere=/var/lib/airgap\n"),
		"usr/lib/systemd/system/var-lib-crio.mount":               unit("[Mount]\nWhere=/var/lib/crio\n"),
		"usr/lib/systemd/system/data.mount":                       unit("[Mount]\nWhere=/data\nWhat=/dev/x\n"),
		"usr/lib/systemd/system/local-fs.target.wants/data.mount": unit(""),
		"etc/fstab": unit("/dev/a /var/lib/etcd xfs defaults\n/dev/b /data xfs defaults\n/dev/c /data xfs nofail\n/dev/d none swap sw\n"),
	}, host: bare{}}
	f := &Facts{}
	err := readBootMounts(t.Context(), r, f)
	if err == nil || !strings.Contains(err.Error(), "find") {
		t.Errorf("without the program find: %v", err)
	}
	type seen struct {
		Mount, At       string
		Later, Optional bool
	}
	var got []seen
	for _, m := range f.BootMounts.Mounts {
		got = append(got, seen{m.Mount, m.At(), m.Later, m.Optional})
	}
	want := []seen{
		{"/srv", "/etc/systemd/system/srv.mount:2", false, true},
		{"/var/lib/etcd", "/etc/systemd/system/var-lib-etcd.mount:6", false, false},
		{"/var/lib/kubelet", "/etc/systemd/system/var-lib-kubelet.mount:3", true, false},
		{"/data", "/etc/fstab:2", false, false},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if etcd, _ := f.BootMounts.At("/var/lib/etcd/member"); !reflect.DeepEqual(etcd.Options, []string{"nofail", "password=***"}) {
		t.Errorf("the drop-in's options: %+v", etcd)
	}
	if odd := strings.Join(f.BootMounts.Odd, "\n"); len(f.BootMounts.Odd) != 3 || !strings.Contains(odd, "wrong.mount: systemd does not load it") ||
		!strings.Contains(odd, "/etc/fstab:1: an earlier line or a mount unit") || !strings.Contains(odd, "/etc/fstab:3: an earlier line") {
		t.Errorf("odd: %s", odd)
	}
}

// TestOptionsAtBoot: mount(8): the last option counts, and user implies noexec.
func TestOptionsAtBoot(t *testing.T) {
	b := BootMounts{Mounts: []BootMount{
		{FstabEntry: FstabEntry{File: "/etc/fstab", Line: 1, Mount: "/", Options: []string{"defaults", "nodev"}}},
		{FstabEntry: FstabEntry{File: "/etc/fstab", Line: 2, Mount: "/data", Options: []string{"user", "exec"}}},
		{FstabEntry: FstabEntry{File: "/etc/fstab", Line: 3, Mount: "/opt", Options: []string{"noexec", "owner", "ro", "rw"}}},
	}}
	for path, want := range map[string]string{
		"/var/lib/kubelet nodev": "/etc/fstab:1", "/var/lib/kubelet noexec": "", "/data/x noexec": "", "/data/x nosuid": "/etc/fstab:2",
		"/opt noexec": "/etc/fstab:3", "/opt nodev": "/etc/fstab:3", "/opt ro": "",
	} {
		p, option, _ := strings.Cut(path, " ")
		if got := b.OnAt(p, option); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestClosedDisks: a disk that crypttab leaves closed, by its name and by another one.
func TestClosedDisks(t *testing.T) {
	r := reader{fs: fstest.MapFS{"etc/crypttab": {Data: []byte("# etcd UUID=0 none noauto\netcd UUID=1 none luks,noauto\nopen UUID=2 none\n")}}}
	b := BootMounts{Mounts: []BootMount{{FstabEntry: FstabEntry{Spec: "/dev/mapper/etcd"}}, {FstabEntry: FstabEntry{Spec: "UUID=9"}, Device: "dm-3"}, {FstabEntry: FstabEntry{Spec: "/dev/mapper/open"}}}}
	if err := b.findClosed(r, map[string]string{"/dev/mapper/etcd": "dm-3"}); err != nil {
		t.Fatal(err)
	}
	const at = "/etc/crypttab:2"
	if b.Mounts[0].Closed != at || b.Mounts[1].Closed != at || b.Mounts[2].Closed != "" || !strings.Contains(b.Mounts[0].Weakness("xfs"), "noauto in "+at) {
		t.Errorf("got %+v", b.Mounts)
	}
}

// TestNoFstab: the kernel command line can switch fstab off.
func TestNoFstab(t *testing.T) {
	for words, want := range map[string]int{"ro quiet": 1, "ro fstab=no": 0, "fstab=0 fstab=yes": 1} {
		f := &Facts{}
		r := reader{fs: fstest.MapFS{"proc/cmdline": {Data: []byte(words)}, "etc/fstab": {Data: []byte("/dev/a /data xfs\n")}}, host: bare{}}
		_ = readBootMounts(t.Context(), r, f) // the error about find comes last
		if len(f.BootMounts.Mounts) != want {
			t.Errorf("%q: %+v", words, f.Boot)
		}
	}
}
