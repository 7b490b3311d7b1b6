package kubeadm

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// fakeFapolicyd compiles its rules as fagenrules does, and knows what the trust
// file said when it was last started.
func fakeFapolicyd(t *testing.T, f *fakeHost) {
	t.Helper()
	database, text := "rpmdb /usr/bin/true 1 ab\n", func(name string) string {
		if !f.has(name) {
			return ""
		}
		return f.get(name)
	}
	f.put(t, "etc/fapolicyd/rules.d/90-deny-execute.rules", "deny_audit perm=execute all : all\n")
	f.put(t, compiledRules, "deny_audit perm=execute all : all\n")
	f.answers["fagenrules"] = func(host.Cmd) ([]byte, error) {
		if now := text(rulesFile) + text("etc/fapolicyd/rules.d/90-deny-execute.rules"); now != text(compiledRules) {
			f.put(t, compiledRules+".prev", text(compiledRules))
			f.put(t, compiledRules, now)
		}
		return nil, nil
	}
	f.answers["systemctl try-restart fapolicyd"] = func(host.Cmd) ([]byte, error) {
		database = "rpmdb /usr/bin/true 1 ab\n"
		for line := range strings.Lines(text(trustFile)) {
			database += "filedb " + line
		}
		return nil, nil
	}
	f.answers["fapolicyd-cli --dump-db"] = func(host.Cmd) ([]byte, error) { return []byte(database), nil }
}

func putRuntime(t *testing.T, f *fakeHost, programs map[string]string) {
	t.Helper()
	record := installed{Files: map[string]string{}}
	for name, text := range programs {
		f.put(t, BinDir+"/"+name, text)
		record.Files[name] = fmt.Sprintf("%064x", len(text))
	}
	must(host.WriteJSON(f.root+installedFile, record))
}

func TestFapolicyd(t *testing.T) {
	f, m := newFake(t)
	fakeFapolicyd(t, f)
	s := FapolicydStep(m, Runtime{})
	putRuntime(t, f, map[string]string{"runc": "12345", "containerd": "123"})
	mustHold(t, s.Done, false)
	wantPlan(t, f, s, "write "+rulesFile+" (new)", "list the programs in "+BinDir+" with their hashes in "+trustFile, "restart fapolicyd")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if got, want := f.get(trustFile), fmt.Sprintf("/opt/airgap/bin/containerd 3 %064x\n/opt/airgap/bin/runc 5 %064x\n", 3, 5); got != want {
		t.Errorf("trusted:\n%s", got)
	}
	if !strings.Contains(f.get(compiledRules), "allow perm=execute exe=/opt/airgap/bin/containerd : dir=/opt/cni/bin/\nallow perm=execute exe=/opt/cni/bin/calico : path=/opt/cni/bin/calico-ipam\ndeny_audit") {
		t.Errorf("rules:\n%s", f.get(compiledRules))
	}

	putRuntime(t, f, map[string]string{"runc": "12345", "containerd": "1234567"}) // an upgrade
	mustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{trustFile, rulesFile, compiledRules + ".prev", fapolicydUndo} {
		if f.has(name) {
			t.Errorf("undo left %s", name)
		}
	}
	if got := f.get(compiledRules); got != "deny_audit perm=execute all : all\n" {
		t.Errorf("rules after the undo:\n%s", got)
	}
}

func TestFapolicydThatDoesNotRun(t *testing.T) {
	f, m := newFake(t)
	f.fails("systemctl is-active", 3, "")
	mustHold(t, FapolicydStep(m, Runtime{}).Done, true)
	if err := FapolicydStep(m, Runtime{}).Undo(t.Context()); err != nil || f.ran("fagenrules") > 0 {
		t.Errorf("%v, ran %v", err, f.calls)
	}
}

func TestLabels(t *testing.T) {
	f, m := newFake(t)
	f.put(t, "sys/fs/selinux/enforce", "1")
	f.put(t, BinDir+"/containerd", "")
	rules, right := "/opt/bank = /usr\n", false
	f.answers["semanage fcontext --list"] = func(host.Cmd) ([]byte, error) { return []byte(rules), nil }
	f.answers["semanage fcontext --add"] = func(host.Cmd) ([]byte, error) { rules += "/opt/airgap/bin   =   /usr/bin\n"; return nil, nil }
	f.answers["semanage fcontext --delete"] = func(host.Cmd) ([]byte, error) { rules = "/opt/bank = /usr\n"; return nil, nil }
	f.answers["restorecon -R"] = func(host.Cmd) ([]byte, error) { right = true; return nil, nil }
	f.answers["restorecon -R -n -v"] = func(host.Cmd) ([]byte, error) {
		if right {
			return nil, nil
		}
		return []byte("Would relabel /opt/airgap/bin/containerd from usr_t to container_runtime_exec_t\n"), nil
	}
	s := LabelsStep(m)
	wantPlan(t, f, s, "label /opt/airgap/bin as /usr/bin (semanage fcontext)", "Would relabel /opt/airgap/bin/containerd from usr_t to container_runtime_exec_t")
	mustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if !strings.Contains(f.get(labelsUndo), "true") {
		t.Error("it is not written down")
	}
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if rules != "/opt/bank = /usr\n" || f.has(labelsUndo) || f.ran("semanage fcontext --delete --equal /usr/bin /opt/airgap/bin") != 1 {
		t.Errorf("rules after the undo: %s, ran %q", rules, f.calls)
	}

	rules = "/opt/airgap/bin = /usr/bin\n" // the site's own
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Undo(t.Context()); err != nil || !strings.Contains(rules, BinDir) {
		t.Errorf("the undo took the site's rule away: %v", err)
	}
}

func TestLabelsWithoutSemanage(t *testing.T) {
	f, m := newFake(t)
	mustHold(t, LabelsStep(m).Done, true) // no SELinux
	f.put(t, "sys/fs/selinux/enforce", "1")
	f.answers["semanage"] = func(host.Cmd) ([]byte, error) {
		return nil, &host.CommandError{Argv: []string{"semanage"}, ExitCode: -1, Err: exec.ErrNotFound}
	}
	mustHold(t, LabelsStep(m).Done, true) // no programs yet: they get their labels when they come
	f.put(t, BinDir+"/containerd", "")
	f.answers["restorecon -R -n -v"] = func(host.Cmd) ([]byte, error) { return []byte("Would relabel it\n"), nil }
	mustHold(t, LabelsStep(m).Done, false)
	if err := LabelsStep(m).Run(t.Context()); err != nil || f.ran("restorecon -R /opt/airgap") != 1 {
		t.Errorf("%v, ran %q", err, f.calls)
	}
}
