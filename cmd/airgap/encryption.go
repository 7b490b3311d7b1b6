package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm"
)

func (a *app) encryption() *cobra.Command {
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
	cmd.AddCommand(a.encryptionRotate())
	return gives(cmd, asText)
}

func (a *app) encryptionRotate() *cobra.Command {
	var keys []string
	var node string
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

The key lies in ` + kubeadm.EncryptionFile + ` and, since they hold
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
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runRotate(cmd.Context(), keys, node) },
	}
	keyFlags(cmd, &keys)
	cmd.Flags().StringVar(&node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	return cmd
}

func (a *app) runRotate(ctx context.Context, keys []string, node string) error {
	if err := hostcheck.MustBeRoot("encryption rotate"); err != nil {
		return err
	}
	s, err := site.Stored(keys, node)
	if err != nil {
		return err
	}
	provider := s.Config.Kubernetes.EncryptionAtRest
	if provider == kubeadm.NoEncryption {
		return advice.Add(errors.New("rotate the encryption key: airgap.yaml has kubernetes.encryptionAtRest: none"), "there is no key to rotate")
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	cluster, err := kubeadm.LiveCluster(s.Machine)
	if err != nil {
		return advice.Add(err, "run it on a control-plane host")
	}
	p := a.newProgress()
	rotation := kubeadm.Rotation{Machine: s.Machine, Node: s.Node.Name, Provider: provider, Cluster: cluster, Say: p.Say}
	done, err := rotation.Run(ctx)
	if err != nil {
		return err
	}
	return a.print(done, func(w io.Writer) error { return writeRotated(w, done) })
}

func writeRotated(w io.Writer, r kubeadm.Rotated) error {
	text := r.Key + " encrypts all Secrets now, and the old key is gone"
	switch {
	case !r.Changed:
		text = "the interrupted rotation to " + r.Key + " is finished, and the old key is gone; run the same command again for a new key"
	case r.Leader != "":
		text = r.Leader + " led the rotation to its end: the old key is gone here, too"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
