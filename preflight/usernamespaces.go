package preflight

const userNamespacesParameter = "user.max_user_namespaces"

var userNamespaces = Check{
	ID: "user-namespaces", Title: "User namespaces", Source: "user_namespaces(7); DISA STIG RHEL-09-213105 sets 0",
	Breaks: "Pods with users of their own (hostUsers: false) and builders without root do not start: \"no space left on device\".",
	Needs:  []string{"sysctls"}, Run: judgeUserNamespaces,
}

// judgeUserNamespaces only warns: most pods share the host's users. Surveys from before
// this check have no such parameter.
func judgeUserNamespaces(f *Facts, _ *Want) Result {
	s := f.sysctl(userNamespacesParameter)
	const want = "more than 0"
	switch {
	case s.Boot == "0":
		return Result{Warn, s.File + " sets " + s.Name + " = 0", want, "take the line out of " + s.File + ", and sysctl -w " + s.Name + "=15000"}
	case s.Value == "0":
		return Result{Warn, "none can be made: " + s.Name + " = 0", want, "sysctl -w " + s.Name + "=15000"}
	case s.Value == "":
		return skipped("the facts have no " + s.Name)
	default:
		return pass("at most %s", s.Value)
	}
}
