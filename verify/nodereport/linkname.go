package nodereport

import "regexp"

// linkName has the names that programs give to interfaces. The kernel accepts more, which a shell
// does not take as one word.
var linkName = regexp.MustCompile(`^[A-Za-z0-9_.@][A-Za-z0-9_.@-]{0,14}$`)

// IsPlainLinkName reports whether a name from a report can be in a command that an operator runs.
func IsPlainLinkName(name string) bool { return linkName.MatchString(name) }
