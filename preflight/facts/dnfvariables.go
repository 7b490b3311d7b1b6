package facts

import (
	"context"
	"regexp"
	"strings"
)

// variableDirs have one file per variable of dnf. The later one counts, as in dnf.
func variableDirs() []string { return []string{"etc/yum/vars", "etc/dnf/vars"} }

// variableName leaves out copies of editors and of rpm, such as stream.rpmnew.
var variableName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// readDNFVariables reads the first line of each file, as dnf does.
func readDNFVariables(_ context.Context, r reader, f *Facts) error {
	for _, dir := range variableDirs() {
		names, err := r.names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !variableName.MatchString(name) {
				continue
			}
			lines, err := r.optionalLines(dir + "/" + name)
			if err != nil {
				return err
			}
			if f.DNFVariables == nil {
				f.DNFVariables = map[string]string{}
			}
			f.DNFVariables[name] = ""
			if len(lines) > 0 {
				f.DNFVariables[name] = strings.TrimSpace(lines[0])
			}
		}
	}
	return nil
}

// DNFVariablesFact is the name of the fact in Facts.Unknown.
const DNFVariablesFact = "dnfVariables"

// UnknownVariable is a variable of the server that the file does not have.
func UnknownVariable(name, reason string) Unknown {
	return Unknown{Fact: DNFVariablesFact, Reason: "$" + name + ": " + reason}
}

// WhyVariable is the reason why a variable is unknown; "" if the file has all variables of the server.
func WhyVariable(f *Facts, name string) string {
	for _, reason := range f.Why(DNFVariablesFact) {
		of, why, one := strings.Cut(reason, ": ")
		switch {
		case one && of == "$"+name:
			return why
		case !strings.HasPrefix(reason, "$"):
			return reason // about all variables
		}
	}
	return ""
}
