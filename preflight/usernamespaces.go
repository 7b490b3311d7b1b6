package preflight

import (
	"cmp"

	"airgap.dev/airgap/preflight/facts"
)

var userNamespaces = Check{
	ID: "user-namespaces", Title: "User namespaces are allowed", Source: "user_namespaces(7); DISA STIG RHEL-09-213105 sets 0",
	Breaks: "Pods with their own users (hostUsers: false) and rootless builders do not start: \"no space left on device\".",
	Needs:  []string{"sysctls"}, Run: judgeUserNamespaces,
}

// judgeUserNamespaces only warns: most pods share the host's users. Surveys that are older than
// this check do not have the parameter.
func judgeUserNamespaces(f *facts.Facts, _ *Want) Result {
	s := f.Sysctl(facts.UserNamespacesParameter)
	const want = "more than 0"
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
