package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/rotation"
	"airgap.dev/airgap/kubeadm/encryption"
)

func encryptionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "encryption",
		Short: "The key that Secrets are encrypted with in etcd",
		Long: `Secrets lie in etcd, and in its backups, encrypted with a key that is made on the
first control-plane host and is in /etc/kubernetes/apiserver/encryption.yaml on all of
them; kubernetes.encryptionAtRest in airgap.yaml says by which provider, or that they
are not. airgap encryption rotate replaces the key.`,
		Example: "  airgap encryption rotate",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(encryptionRotateCommand(a))
	return gives(cmd, asText)
}

func encryptionRotateCommand(a *app) *cobra.Command {
	var o rotation.KeyOptions
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the key that Secrets are encrypted with",
		Long: `Makes a new key and has every Secret written again with it; then the old key goes.
Nothing is restarted, and Secrets can be read and written all the while. It takes
three to four minutes: an API server looks once a minute whether its keys changed,
and every one must have loaded a key before it is used.

The command can be interrupted at any point and run again: it goes on where it
stopped, and says so when that was the end of it and a new key takes another run.
The old key goes only when etcd itself shows no Secret of it any more.

The key lies in ` + encryption.EncryptionFile + ` and, since they hold
etcd too, in the backups of airgap backup, with the key of their day. A snapshot of
etcd alone, made by other programs, is of no use without it. What etcd deleted stays
in its files for a while, encrypted with the old key.

Run it on a control-plane host; where there are several, start it on each of them
without waiting for the first to end: they go through it together. The one where it
was run first leads, the others get the new key from it, sealed for them alone, and
follow. Let no control-plane host join meanwhile. Do it once a year, and when somebody
who knew the key has left. The new key is of the provider that
kubernetes.encryptionAtRest names.`,
		Example: "  airgap encryption rotate",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(rotation.EncryptionKey(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	return cmd
}
