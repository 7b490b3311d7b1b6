package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
)

// membership is what airgap install asks the other hosts before it changes
// anything.
func (a *app) membership() *cobra.Command {
	return &cobra.Command{
		Use: "membership", Short: "Say whether this host is a node, and of which cluster", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			m, err := join.MembershipOf(site.ThisMachine())
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "joined %v %s\n", m.Joined, m.Cluster)
				return err
			})
		},
	}
}
