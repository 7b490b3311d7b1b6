// Package selinuxtest asks a compiled SELinux policy about the labels, transitions and rights that airgap needs.
// The policy need not be loaded, so a policy of Enterprise Linux can be asked on any machine. It reads
// the policy with sesearch and the file contexts with matchpathcon.
package selinuxtest

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// The variables that name the policy (/etc/selinux/targeted/policy/policy.33) and its file contexts
// (/etc/selinux/targeted/contexts/files/file_contexts).
const (
	PolicyVariable   = "AIRGAP_SELINUX_POLICY"
	ContextsVariable = "AIRGAP_FILE_CONTEXTS"
)

// Policy is a compiled policy with its file contexts.
type Policy struct{ file, contexts string }

// Named returns the policy that the variables name. It skips the test if they are not set.
func Named(t *testing.T) Policy {
	t.Helper()
	p := Policy{os.Getenv(PolicyVariable), os.Getenv(ContextsVariable)}
	if p.file == "" || p.contexts == "" {
		t.Skipf("set %s and %s to the files of an Enterprise Linux host", PolicyVariable, ContextsVariable)
	}
	for program, from := range map[string]string{"sesearch": "setools-console", "matchpathcon": "libselinux-utils"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install the package %s (Debian: setools, selinux-utils)", err, from)
		}
	}
	return p
}

// TypeOf returns the type that restorecon would give to a file. kind is file or dir. The programs of
// airgap have the types of those in /usr/bin (runtime.LabelsStep).
func (p Policy) TypeOf(t *testing.T, name, kind string) string {
	t.Helper()
	if path.Dir(name) == host.BinDir {
		name = path.Join("/usr/bin", path.Base(name))
	}
	return typeIn(hosttest.Output(t, "matchpathcon", "-n", "-m", kind, "-f", p.contexts, name))
}

// typeIn returns the third part of a context.
func typeIn(context string) string {
	parts := strings.Split(strings.TrimSpace(context), ":")
	if len(parts) < 3 {
		return "" // <<none>>
	}
	return parts[2]
}

// Domain returns the domain of a process that a process in the domain from starts with a program of this
// type; "" if the policy has no transition.
func (p Policy) Domain(t *testing.T, from, program string) string {
	t.Helper()
	return domainIn(hosttest.Output(t, "sesearch", "--type_trans", "-s", from, "-t", program, "-c", "process", p.file), program)
}

// domainIn reads "type_transition FROM PROGRAM:process DOMAIN;". sesearch also lists rules of attributes.
func domainIn(rules, program string) string {
	domain := ""
	for line := range strings.Lines(rules) {
		words := strings.Fields(line)
		if len(words) != 4 || words[0] != "type_transition" {
			continue // a condition, or a rule for a file name
		}
		if words[2] == program+":process" {
			domain = strings.TrimSuffix(words[3], ";")
		}
	}
	return domain
}

// Denied returns the permissions that a process in the domain from does not have on files, directories or
// processes of a type. A permission that depends on a boolean counts as denied, and the boolean is named.
func (p Policy) Denied(t *testing.T, from, to, class string, permissions ...string) []string {
	t.Helper()
	return deniedIn(hosttest.Output(t, "sesearch", "--allow", "-s", from, "-t", to, "-c", class, p.file), permissions)
}

// deniedIn reads "allow FROM TO:CLASS { PERMISSION... };", with one permission without braces, and with
// "[ BOOLEAN ]:True" after a rule that depends on one.
func deniedIn(rules string, permissions []string) []string {
	allowed, depends := map[string]bool{}, map[string]string{}
	for line := range strings.Lines(rules) {
		rule, condition, _ := strings.Cut(line, ";")
		_, list, found := strings.Cut(rule, ":")
		if !strings.HasPrefix(line, "allow ") || !found {
			continue
		}
		for _, permission := range strings.Fields(list)[1:] {
			if condition = strings.TrimSpace(condition); condition == "" {
				allowed[permission] = true
			} else {
				depends[permission] = condition
			}
		}
	}
	var denied []string
	for _, permission := range permissions {
		switch {
		case allowed[permission]:
		case depends[permission] != "":
			denied = append(denied, permission+" (only with "+depends[permission]+")")
		default:
			denied = append(denied, permission)
		}
	}
	return denied
}
