package main

import (
	"context"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/advice"
)

// newTokens are the flags with which airgap join creates join tokens, and joins no host.
type newTokens struct{ one, allMissing bool }

func (n *newTokens) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&n.one, "new-token", false, "on a control-plane host: print the airgap join command and a new join token")
	cmd.Flags().BoolVar(&n.allMissing, "all-missing", false, "with --new-token: a new token for each node that has not joined,\none sheet for each rack")
}

// args checks the arguments and flags of airgap join.
func (n *newTokens) args(cmd *cobra.Command, args []string, node string, dryRun, index bool) error {
	switch {
	case n.one && dryRun:
		return advice.Usagef("airgap join: --new-token and --dry-run exclude each other: leave one of them out")
	case n.allMissing && !n.one:
		return advice.Usagef("airgap join: --all-missing requires --new-token")
	case n.allMissing && node != "":
		return advice.Usagef("airgap join: --all-missing and --node exclude each other: leave one of them out")
	case index && !dryRun:
		return advice.Usagef("airgap join: --index is only for --dry-run")
	case n.one || index:
		return noArgs(cmd, args)
	}
	return oneArg("the registry's ADDRESS:PORT")(cmd, args)
}

// print creates the tokens and prints them.
func (n *newTokens) print(ctx context.Context, a *app, o join.Options) error {
	if n.allMissing {
		sheets, err := join.TokensForMissing(ctx, o.Keys, a.terminal())
		return a.finishPart(sheets, len(sheets.Racks) > 0, err)
	}
	return a.finish(join.TokenFor(ctx, o.Keys, o.Node, a.terminal()))
}
