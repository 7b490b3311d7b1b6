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

// lent is a host of somebody's: its directories lie below root, and its rpm, its
// airgap and its users are scripts. The rest is this machine's.
type lent struct {
	lab.Machine
	name, root string
}

func (l *lent) Name() string                    { return l.name }
func (l *lent) PullStick(context.Context) error { return nil }
func (l *lent) Close(context.Context) error     { return nil }

func (l *lent) Exec(ctx context.Context, cmd lab.Cmd) error {
	var paths []string
	for _, dir := range []string{"/etc/", "/opt/", "/var/", "/root/"} {
		paths = append(paths, dir, l.root+dir)
	}
	here := strings.NewReplacer(paths...).Replace
	args := []string{"env"} // which finds programs of the host
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
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return &lab.ExitError{Machine: l.name, Args: cmd.Args, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

// rpmScript knows packages as lines NAME-VERSION-RELEASE of a file.
const rpmScript = `case "$*" in
"--quiet -q "*) grep -q "^$3-[0-9]" $ROOT/db ;;
"-qa "*gpg-pubkey*) grep ^gpg-pubkey- $ROOT/db || true ;;
"-qa "*) cat $ROOT/db ;;
"-e "*) grep -v "^$2\(-[0-9].*\)*$" $ROOT/db >$ROOT/left; mv $ROOT/left $ROOT/db ;;
--version) echo RPM version 4.16.1.3 ;;
*) echo "rpm $*" >&2; exit 9 ;;
esac`

// airgapScript takes back what an install of its has brought, or not all of it.
const airgapScript = `[ "$*" = "reset --yes --wipe-data" ] || exit 9
rm -r $ROOT/etc/kubernetes
[ -e $ROOT/forgetful ] || rpm -e kubelet`

func newLent(t *testing.T, name string) *lent {
	t.Helper()
	l := &lent{name: name, root: t.TempDir()}
	l.has(t, "db", "bash-5.1.8-9.el9\ngpg-pubkey-fd431d51-4ae0493b\n")
	l.has(t, "etc/os-release", "PRETTY_NAME='Red Hat Enterprise Linux 9.4 (Plow)'\n")
	l.has(t, "var/lib/kept", "")
	for program, script := range map[string]string{"rpm": rpmScript, "airgap": airgapScript, "id": "echo ${NUMBER:-0}"} {
		l.has(t, "bin/"+program, "#!/bin/sh\n"+script+"\n")
	}
	return l
}

func (l *lent) has(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join(l.root, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

func (l *lent) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.root, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// works is what a run does: it installs, and leaves this and that.
func (l *lent) works(t *testing.T) {
	t.Helper()
	l.has(t, "db", l.read(t, "db")+"airgap-1.0-1\nkubelet-1.36.3-1\ngpg-pubkey-0badf00d-66000000\n")
	l.has(t, "etc/kubernetes/admin.conf", "")
	l.has(t, "root/code", "")
	l.has(t, "root/.kube/cache/x", "")
	l.has(t, "var/tmp/airgap-support-"+l.name+".tar.gz", "")
}

// A host that has anything of ours, or where nobody is root, is not lent; all is told at once.
func TestNotEmpty(t *testing.T) {
	var log bytes.Buffer
	e := &Env{Log: &log}
	fine, used, left, plain := newLent(t, "fine"), newLent(t, "used"), newLent(t, "left"), newLent(t, "plain")
	used.has(t, "etc/airgap/x", "")
	used.has(t, "db", "kubelet-1.36.3-1\nairgap-utils-7-1\n")
	left.has(t, "var/lib/airgap-e2e/began", "1\n")
	plain.has(t, "bin/id", "#!/bin/sh\necho 1000\n")
	err := empty(t.Context(), e, []lab.Machine{fine, used, left, plain})
	want := `host used is not empty: it has USED/etc/airgap, package kubelet
host left is not empty: it has LEFT/var/lib/airgap-e2e; another run works on it, or has left it so: go run ./cmd/lab down --hosts FILE takes that back
become root on host plain: id -u says 1000`
	if want = strings.NewReplacer("USED", used.root, "LEFT", left.root).Replace(want); err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
	if err := empty(t.Context(), e, []lab.Machine{fine}); err != nil {
		t.Error(err)
	}
	if want := "host fine: Red Hat Enterprise Linux 9.4 (Plow), kernel "; !strings.HasPrefix(log.String(), want) || !strings.Contains(log.String(), "RPM version 4.16.1.3, SELinux none") {
		t.Errorf("got %q; want it to begin with %q", log.String(), want)
	}
}

// What a run brought goes, what was there stays, and what is not noted is not touched.
func TestGiveBack(t *testing.T) {
	var log bytes.Buffer
	first, second, other := newLent(t, "first"), newLent(t, "second"), newLent(t, "other")
	before := first.read(t, "db")
	if err := note(t.Context(), []lab.Machine{first, second}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*lent{first, second, other} {
		l.works(t)
	}
	others := other.read(t, "db")
	if err := GiveBack(t.Context(), &lab.Lab{Machines: []lab.Machine{first, second, other}}, &log); err != nil {
		t.Fatal(err)
	}
	want := "host other: no scenario has anything there, so it is left alone\nhost second: given back, with the packages that it had\nhost first: given back, with the packages that it had\n"
	if log.String() != want {
		t.Errorf("said %q; want %q", log.String(), want)
	}
	for _, l := range []*lent{first, second} {
		if got := l.read(t, "db"); got != before {
			t.Errorf("%s has the packages %q; want %q", l.name, got, before)
		}
		for _, file := range []string{"root/code", "root/.kube", "var/tmp/airgap-support-" + l.name + ".tar.gz", "var/lib/airgap-e2e", "etc/kubernetes"} {
			if _, err := os.Lstat(filepath.Join(l.root, file)); !os.IsNotExist(err) {
				t.Errorf("%s has %s still: %v", l.name, file, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(other.root, "root/code")); err != nil || other.read(t, "db") != others {
		t.Error("a host that no run has to do with was changed")
	}
}

// A host that is not as it was is told, and stays a run's.
func TestGiveBackNotAll(t *testing.T) {
	l := newLent(t, "first")
	if err := note(t.Context(), []lab.Machine{l}); err != nil {
		t.Fatal(err)
	}
	l.works(t)
	l.has(t, "forgetful", "")
	l.has(t, "opt/airgap/bin/runc", "")
	l.has(t, "db", strings.Replace(l.read(t, "db"), "bash-5.1.8-9.el9\n", "", 1))
	err := GiveBack(t.Context(), &lab.Lab{Machines: []lab.Machine{l}}, io.Discard)
	want := "give back host first: it is not as it was: gone: bash-5.1.8-9.el9, new: kubelet-1.36.3-1, " + l.root + "/opt/airgap, package kubelet"
	if err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
	if l.read(t, "var/lib/airgap-e2e/packages") == "" {
		t.Error("what the host was like is forgotten")
	}
}

// A second run on the same hosts is held off.
func TestNoteTwice(t *testing.T) {
	l := newLent(t, "first")
	if err := note(t.Context(), []lab.Machine{l}); err != nil {
		t.Fatal(err)
	}
	if err := note(t.Context(), []lab.Machine{l}); err == nil || !strings.Contains(err.Error(), "File exists") {
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
		t.Errorf("of nothing came %q", got)
	}
}

// TestPartElsewhere: on hosts of others a part that needs the lab is left out.
func TestPartElsewhere(t *testing.T) {
	var log bytes.Buffer
	ran := 0
	p := Part{"a power cut", func() error { ran++; return nil }}
	elsewhere := &Env{Log: &log, run: "t", hosts: &lab.Hosts{}}
	if err := errors.Join(elsewhere.InOrder([]Part{WithNeed(elsewhere, NeedPower, p)}), (&Env{Log: io.Discard}).InOrder([]Part{WithNeed((&Env{}), NeedPower, p)})); err != nil || ran != 1 {
		t.Errorf("ran %d times, %v", ran, err)
	}
	if want := "t: a power cut (left out: it cuts the servers' power)\n"; log.String() != want {
		t.Errorf("said %q; want %q", log.String(), want)
	}
}

// A site's airgap.yaml stays where it is and as it is.
func TestConfigOfASite(t *testing.T) {
	e := &Env{Work: t.TempDir(), hosts: &lab.Hosts{Config: "/site/airgap.yaml", Cluster: "prod", Skip: []string{"memory", "swap"}}}
	if got, err := e.Config("airgap.yaml"); err != nil || got != "/site/airgap.yaml" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := e.Config("airgap.yaml", "a", "b"); err == nil {
		t.Error("a site's file was to be edited")
	}
	if e.OnStick() != lab.StickPath+"/prod" || e.Skips() != "--skip=memory,swap" {
		t.Errorf("got %s and %s", e.OnStick(), e.Skips())
	}
	if e := new(Env); e.OnStick() != lab.StickPath+"/bank" || e.Skips() != "--skip=time-sync,disk-space" {
		t.Errorf("in the lab: %s and %s", e.OnStick(), e.Skips())
	}
}
