package runtime

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// fakeFapolicyd compiles its rules as fagenrules does, and has the trust file of its last start.
func fakeFapolicyd(t *testing.T, f *hosttest.Fake) {
	t.Helper()
	database, text := "rpmdb /usr/bin/true 1 ab\n", func(name string) string {
		if !f.Has(name) {
			return ""
		}
		return f.Get(name)
	}
	f.Put(t, "etc/fapolicyd/rules.d/90-deny-execute.rules", "deny_audit perm=execute all : all\n")
	f.Put(t, compiledRules, "deny_audit perm=execute all : all\n")
	f.Answers["fagenrules"] = func(host.Cmd) ([]byte, error) {
		if now := text(rulesFile) + text("etc/fapolicyd/rules.d/90-deny-execute.rules"); now != text(compiledRules) {
			f.Put(t, compiledRules+".prev", text(compiledRules))
			f.Put(t, compiledRules, now)
		}
		return nil, nil
	}
	f.Answers["systemctl try-restart fapolicyd"] = func(host.Cmd) ([]byte, error) {
		database = "rpmdb /usr/bin/true 1 ab\n"
		for line := range strings.Lines(text(trustFile)) {
			database += "filedb " + line
		}
		return nil, nil
	}
	f.Answers["fapolicyd-cli --dump-db"] = func(host.Cmd) ([]byte, error) { return []byte(database), nil }
}

func putRuntime(t *testing.T, f *hosttest.Fake, programs map[string]string) {
	t.Helper()
	record := installed{Files: map[string]string{}}
	for name, text := range programs {
		f.Put(t, host.BinDir+"/"+name, text)
		record.Files[name] = fmt.Sprintf("%064x", len(text))
	}
	hosttest.Must(host.WriteJSON(f.Root+installedFile, record))
}

func TestFapolicyd(t *testing.T) {
	f, m := hosttest.New(t)
	fakeFapolicyd(t, f)
	s := FapolicydStep(m, Config{})
	putRuntime(t, f, map[string]string{"runc": "12345", "containerd": "123"})
	hosttest.MustBeDone(t, s.Done, false)
	hosttest.WantPlan(t, f, s, "write "+rulesFile+" (new)", "list the programs in "+host.BinDir+" with their hashes in "+trustFile, "restart fapolicyd")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got, want := f.Get(trustFile), fmt.Sprintf("/opt/airgap/bin/containerd 3 %064x\n/opt/airgap/bin/runc 5 %064x\n", 3, 5); got != want {
		t.Errorf("trusted:\n%s", got)
	}
	allowed := "allow perm=execute exe=/opt/airgap/bin/containerd : dir=/opt/cni/bin/\n" +
		"allow perm=execute exe=/opt/cni/bin/calico : path=/opt/cni/bin/calico-ipam\n" +
		"deny_audit"
	if !strings.Contains(f.Get(compiledRules), allowed) {
		t.Errorf("rules:\n%s", f.Get(compiledRules))
	}

	putRuntime(t, f, map[string]string{"runc": "12345", "containerd": "1234567"}) // an upgrade
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{trustFile, rulesFile, compiledRules + ".prev", fapolicydUndo} {
		if f.Has(name) {
			t.Errorf("%s remains after the undo", name)
		}
	}
	if got := f.Get(compiledRules); got != "deny_audit perm=execute all : all\n" {
		t.Errorf("rules after the undo:\n%s", got)
	}
}

func TestFapolicydThatDoesNotRun(t *testing.T) {
	f, m := hosttest.New(t)
	f.Fails("systemctl is-active", 3, "")
	hosttest.MustBeDone(t, FapolicydStep(m, Config{}).Done, true)
	if err := FapolicydStep(m, Config{}).Undo(t.Context()); err != nil || f.Ran("fagenrules") > 0 {
		t.Errorf("%v, ran %v", err, f.Calls)
	}
}

func TestLabels(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "sys/fs/selinux/enforce", "1")
	f.Put(t, host.BinDir+"/containerd", "")
	rules, right := "/opt/bank = /usr\n", false
	f.Answers["semanage fcontext --list"] = func(host.Cmd) ([]byte, error) { return []byte(rules), nil }
	f.Answers["semanage fcontext --add"] = func(host.Cmd) ([]byte, error) { rules += "/opt/airgap/bin   =   /usr/bin\n"; return nil, nil }
	f.Answers["semanage fcontext --delete"] = func(host.Cmd) ([]byte, error) { rules = "/opt/bank = /usr\n"; return nil, nil }
	f.Answers["restorecon -R"] = func(host.Cmd) ([]byte, error) { right = true; return nil, nil }
	f.Answers["restorecon -R -n -v"] = func(host.Cmd) ([]byte, error) {
		if right {
			return nil, nil
		}
		return []byte("Would relabel /opt/airgap/bin/containerd from usr_t to container_runtime_exec_t\n"), nil
	}
	s := LabelsStep(m)
	hosttest.WantPlan(t, f, s, "label /opt/airgap/bin as /usr/bin (semanage fcontext)", "Would relabel /opt/airgap/bin/containerd from usr_t to container_runtime_exec_t")
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if !strings.Contains(f.Get(labelsUndo), "true") {
		t.Error("the record of the rule does not exist")
	}
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if rules != "/opt/bank = /usr\n" || f.Has(labelsUndo) || f.Ran("semanage fcontext --delete --equal /usr/bin /opt/airgap/bin") != 1 {
		t.Errorf("rules after the undo: %s, ran %q", rules, f.Calls)
	}

	rules = "/opt/airgap/bin = /usr/bin\n" // the site's own
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Undo(t.Context()); err != nil || !strings.Contains(rules, host.BinDir) {
		t.Errorf("the undo removed the site's rule: %v", err)
	}
}

func TestLabelsWithoutSemanage(t *testing.T) {
	f, m := hosttest.New(t)
	hosttest.MustBeDone(t, LabelsStep(m).Done, true) // no SELinux
	f.Put(t, "sys/fs/selinux/enforce", "1")
	f.Answers["semanage"] = func(host.Cmd) ([]byte, error) {
		return nil, &host.CommandError{Argv: []string{"semanage"}, ExitCode: -1, Err: exec.ErrNotFound}
	}
	hosttest.MustBeDone(t, LabelsStep(m).Done, true) // no programs yet: FilesStep labels them
	f.Put(t, host.BinDir+"/containerd", "")
	f.Answers["restorecon -R -n -v"] = func(host.Cmd) ([]byte, error) { return []byte("Would relabel it\n"), nil }
	hosttest.MustBeDone(t, LabelsStep(m).Done, false)
	if err := LabelsStep(m).Run(t.Context()); err != nil || f.Ran("restorecon -R /opt/airgap") != 1 {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
}
