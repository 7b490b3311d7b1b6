package scenario

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/lab"
)

// fakeHost is a foreign host in a test: its directories are below root, and its rpm, airgap
// and id are scripts. It uses all other programs of this machine.
type fakeHost struct {
	lab.Machine
	name, root string
}

func (l *fakeHost) Name() string                    { return l.name }
func (l *fakeHost) PullStick(context.Context) error { return nil }
func (l *fakeHost) Close(context.Context) error     { return nil }

func (l *fakeHost) Exec(ctx context.Context, cmd lab.Cmd) error {
	var paths []string
	for _, dir := range []string{"/etc/", "/opt/", "/var/", "/root/"} {
		paths = append(paths, dir, l.root+dir)
	}
	here := strings.NewReplacer(paths...).Replace
	args := []string{"env"} // it finds the host's programs in PATH
	for _, a := range cmd.Args {
		args = append(args, here(a))
	}
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"PATH=" + l.root + "/bin:" + os.Getenv("PATH"), "LANG=C.UTF-8", "ROOT=" + l.root}
	if cmd.Stdin != nil {
		text, err := io.ReadAll(cmd.Stdin)
		if err != nil {
			return err
		}
		c.Stdin = strings.NewReader(here(string(text)))
	}
	var stderr bytes.Buffer
	c.Stdout, c.Stderr = cmd.Stdout, &stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &lab.ExitError{Machine: l.name, Args: cmd.Args, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

// rpmScript is an rpm whose database is a file with lines NAME-VERSION-RELEASE.
const rpmScript = `case "$*" in
"--quiet -q "*) grep -q "^$3-[0-9]" $ROOT/db ;;
"-qa "*gpg-pubkey*) grep ^gpg-pubkey- $ROOT/db || true ;;
"-qa "*) cat $ROOT/db ;;
"-e "*) grep -v "^$2\(-[0-9].*\)*$" $ROOT/db >$ROOT/left; mv $ROOT/left $ROOT/db ;;
--version) echo RPM version 4.16.1.3 ;;
*) echo "rpm $*" >&2; exit 9 ;;
esac`

// airgapScript is an airgap whose reset removes the files of an install. With the file
// forgetful, it does not remove the package kubelet.
const airgapScript = `[ "$*" = "reset --yes --wipe-data" ] || exit 9
rm -r $ROOT/etc/kubernetes
[ -e $ROOT/forgetful ] || rpm -e kubelet`

func newFakeHost(t *testing.T, name string) *fakeHost {
	t.Helper()
	l := &fakeHost{name: name, root: t.TempDir()}
	l.write(t, "db", "bash-5.1.8-9.el9\ngpg-pubkey-fd431d51-4ae0493b\n")
	l.write(t, "etc/os-release", "PRETTY_NAME='Red Hat Enterprise Linux 9.4 (Plow)'\n")
	l.write(t, "var/lib/kept", "")
	for program, script := range map[string]string{"rpm": rpmScript, "airgap": airgapScript, "id": "echo ${NUMBER:-0}"} {
		l.write(t, "bin/"+program, "#!/bin/sh\n"+script+"\n")
	}
	return l
}

func (l *fakeHost) write(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join(l.root, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

func (l *fakeHost) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.root, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// install changes the host like a run: it installs packages and leaves files.
func (l *fakeHost) install(t *testing.T) {
	t.Helper()
	l.write(t, "db", l.read(t, "db")+"airgap-1.0-1\nkubelet-1.36.3-1\ngpg-pubkey-0badf00d-66000000\n")
	l.write(t, "etc/kubernetes/admin.conf", "")
	l.write(t, "root/code", "")
	l.write(t, "root/.kube/cache/x", "")
	l.write(t, "var/tmp/airgap-support-"+l.name+".tar.gz", "")
}

// empty refuses hosts with remains, and hosts on which the login is not root. It reports all problems.
func TestNotEmpty(t *testing.T) {
	var log bytes.Buffer
	e := &Env{Log: &log}
	fine, used, left, plain := newFakeHost(t, "fine"), newFakeHost(t, "used"), newFakeHost(t, "left"), newFakeHost(t, "plain")
	used.write(t, "etc/airgap/x", "")
	used.write(t, "db", "kubelet-1.36.3-1\nairgap-utils-7-1\n")
	left.write(t, "var/lib/airgap-e2e/began", "1\n")
	plain.write(t, "bin/id", "#!/bin/sh\necho 1000\n")
	err := empty(t.Context(), e, []lab.Machine{fine, used, left, plain})
	want := `host used is not empty: it has USED/etc/airgap, package kubelet
host left is not empty: it has LEFT/var/lib/airgap-e2e; another run uses it, or did not clean up: clean up with go run ./cmd/lab down --hosts FILE
become root on host plain: id -u prints 1000`
	if want = strings.NewReplacer("USED", used.root, "LEFT", left.root).Replace(want); err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
	if err := empty(t.Context(), e, []lab.Machine{fine}); err != nil {
		t.Error(err)
	}
	if want := "host fine: Red Hat Enterprise Linux 9.4 (Plow), kernel "; !strings.HasPrefix(log.String(), want) || !strings.Contains(log.String(), "RPM version 4.16.1.3, SELinux none") {
		t.Errorf("got %q; want a text that begins with %q", log.String(), want)
	}
}

// Clean removes the files and packages of a run and keeps all others. It does not change
// hosts without lab.ForeignDir.
func TestGiveBack(t *testing.T) {
	var log bytes.Buffer
	first, second, other := newFakeHost(t, "first"), newFakeHost(t, "second"), newFakeHost(t, "other")
	before := first.read(t, "db")
	if err := saveState(t.Context(), []lab.Machine{first, second}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*fakeHost{first, second, other} {
		l.install(t)
	}
	others := other.read(t, "db")
	if err := Clean(t.Context(), &lab.Lab{Machines: []lab.Machine{first, second, other}}, &log); err != nil {
		t.Fatal(err)
	}
	want := "host other: has no files of a run, not changed\nhost second: cleaned up, with the same packages as before\nhost first: cleaned up, with the same packages as before\n"
	if log.String() != want {
		t.Errorf("log: got %q; want %q", log.String(), want)
	}
	for _, l := range []*fakeHost{first, second} {
		if got := l.read(t, "db"); got != before {
			t.Errorf("packages of %s: got %q; want %q", l.name, got, before)
		}
		for _, file := range []string{"root/code", "root/.kube", "var/tmp/airgap-support-" + l.name + ".tar.gz", "var/lib/airgap-e2e", "etc/kubernetes"} {
			if _, err := os.Lstat(filepath.Join(l.root, file)); !os.IsNotExist(err) {
				t.Errorf("%s still exists on %s: %v", file, l.name, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(other.root, "root/code")); err != nil || other.read(t, "db") != others {
		t.Error("GiveBack changed a host that does not belong to a run")
	}
}

// Clean reports a host that differs from its saved state, and keeps lab.ForeignDir.
func TestGiveBackReportsDifferences(t *testing.T) {
	l := newFakeHost(t, "first")
	if err := saveState(t.Context(), []lab.Machine{l}); err != nil {
		t.Fatal(err)
	}
	l.install(t)
	l.write(t, "forgetful", "")
	l.write(t, "opt/airgap/bin/runc", "")
	l.write(t, "db", strings.Replace(l.read(t, "db"), "bash-5.1.8-9.el9\n", "", 1))
	err := Clean(t.Context(), &lab.Lab{Machines: []lab.Machine{l}}, io.Discard)
	want := "clean up host first: it differs from its state before the run: gone: bash-5.1.8-9.el9, new: kubelet-1.36.3-1, " + l.root + "/opt/airgap, package kubelet"
	if err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
	if l.read(t, "var/lib/airgap-e2e/packages") == "" {
		t.Error("GiveBack removed the saved state of the host")
	}
}

// A second run on the same hosts is refused.
func TestSaveStateTwice(t *testing.T) {
	l := newFakeHost(t, "first")
	if err := saveState(t.Context(), []lab.Machine{l}); err != nil {
		t.Fatal(err)
	}
	if err := saveState(t.Context(), []lab.Machine{l}); err == nil || !strings.Contains(err.Error(), "File exists") {
		t.Errorf("got %v", err)
	}
}

func TestDeniedSince(t *testing.T) {
	const old = `type=AVC msg=audit(1764000000.100:11): avc:  denied  { read } for  pid=1 comm="old"`
	const audit = `type=AVC msg=audit(1764000060.100:12): avc:  denied  { execute } for  pid=2 comm="airgap" scontext=a tcontext=b tclass=file permissive=0`
	const user = `type=USER_AVC msg=audit(1764000061.000:13): pid=1 uid=0 msg='avc:  denied  { start } for auid=0'`
	const kernel = `audit: type=1400 audit(1764000070.500:14): avc:  denied  { write } for  pid=3 comm="etcd"`
	text := strings.Join([]string{"1764000060", old, audit, audit, "something else: avc:  denied", user, kernel, ""}, "\n")
	got := deniedSince(text)
	if want := []string{kernel, audit, user}; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q; want %q", got, want)
	}
	if got := deniedSince("1764000060\n"); len(got) > 0 {
		t.Errorf("no denials: got %q, want none", got)
	}
}

// TestPartElsewhere checks that a part that needs the lab is skipped on foreign hosts.
func TestPartElsewhere(t *testing.T) {
	var log bytes.Buffer
	ran := 0
	p := Part{"a power cut", func() error { ran++; return nil }}
	elsewhere := &Env{Log: &log, run: "t", hosts: &lab.Hosts{}}
	if err := errors.Join(elsewhere.InOrder([]Part{WithNeed(elsewhere, NeedPower, p)}), (&Env{Log: io.Discard}).InOrder([]Part{WithNeed((&Env{}), NeedPower, p)})); err != nil || ran != 1 {
		t.Errorf("got %d runs, %v; want 1", ran, err)
	}
	if want := "t: a power cut (skipped: it cuts the servers' power)\n"; log.String() != want {
		t.Errorf("log: got %q; want %q", log.String(), want)
	}
}

// Config does not copy or change a site's airgap.yaml.
func TestConfigOfASite(t *testing.T) {
	e := &Env{Work: t.TempDir(), hosts: &lab.Hosts{Config: "/site/airgap.yaml", Cluster: "prod", Skip: []string{"memory", "swap"}}}
	if got, err := e.Config("airgap.yaml"); err != nil || got != "/site/airgap.yaml" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := e.Config("airgap.yaml", "a", "b"); err == nil {
		t.Error("Config accepted edits of a site's file")
	}
	if e.BundleOnStick() != lab.StickPath+"/prod" || e.Skips() != "--skip=memory,swap" {
		t.Errorf("got %s and %s", e.BundleOnStick(), e.Skips())
	}
	if e := new(Env); e.BundleOnStick() != lab.StickPath+"/bank" || e.Skips() != "--skip=time-sync,disk-space" {
		t.Errorf("in the lab: got %s and %s", e.BundleOnStick(), e.Skips())
	}
}
