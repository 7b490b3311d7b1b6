package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamedTo is the annotation of an old flag with its new name.
const renamedTo = "renamed-to"

// renamed keeps the old name of a flag for one release: the flag still works, and its use prints the
// new name on stderr. CHANGELOG.md lists the old names.
func renamed(cmd *cobra.Command, stderr io.Writer, old, now string) {
	f := *cmd.Flags().Lookup(now)
	f.Name, f.Hidden, f.Annotations = old, true, map[string][]string{renamedTo: {now}}
	f.Value = oldName{f.Value, func() { fmt.Fprintf(stderr, "airgap: warning: --%s is now --%s\n", old, now) }}
	cmd.Flags().AddFlag(&f)
}

// oldName is the value of a flag under its old name.
type oldName struct {
	pflag.Value

	used func()
}

func (o oldName) Set(value string) error {
	o.used()
	return o.Value.Set(value)
}
