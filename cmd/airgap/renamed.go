package main

import "github.com/spf13/cobra"

// renamed keeps the old name of a flag for one release: the flag still works, and its use prints
// the new name. CHANGELOG.md lists the old names.
func renamed(cmd *cobra.Command, old, now string) {
	f := *cmd.Flags().Lookup(now)
	f.Name = old
	f.Hidden, f.Deprecated = true, "use --"+now
	cmd.Flags().AddFlag(&f)
}
