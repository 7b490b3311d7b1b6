package preflight

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var userNamespaces = Check{
	ID: "user-namespaces", Title: "Namespaces are allowed", Source: "namespaces(7), user_namespaces(7); DISA STIG RHEL-09-213105 sets 0",
	Breaks: "Pods with their own users (hostUsers: false) and rootless builders do not start: \"no space left on device\".",
	Needs:  []string{"sysctls"}, Run: judgeUserNamespaces,
}

// judgeUserNamespaces only warns: most pods share the host's users. Surveys that are older than
// this check do not have the parameter.
func judgeUserNamespaces(f *facts.Facts, _ *Want) Result {
	s := f.Sysctl(facts.UserNamespacesParameter)
	const want = "more than 0"
	if few, fix := fewNamespaces(f); len(few) > 0 {
		return Result{Fail, strings.Join(few, "; "), "no limit below " + strconv.Itoa(leastNamespaces) + ", or no line", fix}
	}
	switch {
	case s.Boot == "0":
		return Result{Warn, s.Setting() + " at every boot; now " + cmp.Or(s.Value, "unknown"), want, "remove the line from " + s.File + ", and run sysctl -w " + s.Name + "=15000"}
	case s.Value == "0" && s.Boot != "":
		return Result{Warn, "none can be created: " + s.Name + " = 0 now, although " + s.Setting() + " at every boot", want, "run sysctl -w " + s.Name + "=" + s.Boot}
	case s.Value == "0":
		return Result{Warn, "none can be created: " + s.Name + " = 0", want, "run sysctl -w " + s.Name + "=15000"}
	case s.Value == "":
		return skipped("the survey does not have " + s.Name)
	default:
		return pass("at most %s", s.Value)
	}
}

// leastNamespaces is enough for 110 pods with a few containers each. The kernel's own limit is half of
// its threads, tens of thousands.
const leastNamespaces = 1000

// fewNamespaces describes the limits of the namespaces that every pod has, now or at the next boot.
func fewNamespaces(f *facts.Facts) (found []string, fix string) {
	low := func(value string) bool {
		n, err := strconv.Atoi(value)
		return err == nil && n < leastNamespaces
	}
	for _, kind := range []string{"net", "mnt", "pid", "ipc", "uts", "cgroup"} {
		s := f.Sysctl("user.max_" + kind + "_namespaces")
		switch {
		case low(s.Boot):
			found = append(found, s.Setting()+" at every boot: no pod starts beyond it")
			fix = "remove the line from " + s.File + ", and run sysctl -w " + s.Name + "=15000"
		case low(s.Value) && s.Boot == "":
			found = append(found, fmt.Sprintf("%s = %s now: no pod starts beyond it", s.Name, s.Value))
			fix = "run sysctl -w " + s.Name + "=15000, and find the program that sets it"
		}
	}
	return found, fix
}
