package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/rotation"
	"airgap.dev/airgap/kubeadm/encryption"
)

func encryptionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "encryption",
		Short: "Manage the key that encrypts Secrets in etcd",
		Long: `Manage the key that encrypts Secrets in etcd and in its backups. The first control-plane
host creates the key. All control-plane hosts have it in
/etc/kubernetes/apiserver/encryption.yaml. kubernetes.encryptionAtRest in airgap.yaml
selects the provider, or disables encryption. airgap encryption rotate replaces the key.`,
		Example: "  airgap encryption rotate",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(encryptionRotateCommand(a))
	return withFormats(cmd, asText)
}

func encryptionRotateCommand(a *app) *cobra.Command {
	var o rotation.KeyOptions
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the key that encrypts Secrets in etcd",
		Long: `Create a new key, write every Secret again with it, and remove the old key. Nothing is
restarted, and Secrets stay readable and writable. The rotation takes three to four
minutes: an API server checks its keys once a minute, and every API server must load a key
before the key is used. The old key is removed only when etcd has no Secret with it.

Run it on a control-plane host. With several control-plane hosts, start it on each of them
without waiting for the first run to end: the hosts rotate the key together. The host
that starts first leads. The others get the new key from it, encrypted for each of them.
Do not join a control-plane host during the rotation. Rotate the key once a year, and when
a person with access to the key leaves. The new key uses the provider in
kubernetes.encryptionAtRest.

The command can be interrupted at any point. The next run continues where it stopped. If
that completes the earlier rotation, the command reports it: another run creates a new
key.

The key is in ` + encryption.EncryptionFile + `. Each backup of
airgap backup contains the key of its time, together with the data of etcd. An etcd
snapshot from another program is useless without the key. Data that etcd deleted stays in
its files for a while, encrypted with the old key.`,
		Example: "  airgap encryption rotate",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(rotation.EncryptionKey(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	return cmd
}
