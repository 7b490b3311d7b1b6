package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/kubeadm"
)

func (a *app) certsRotateCA() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "rotate-ca",
		Short: "Replace the authority of etcd by a new one, on a single control-plane host",
		Long: `Makes a new authority and has it take the old one's place, so that no program ever
meets a certificate that it does not trust: first everybody trusts both, then every
certificate is made anew by the new one, then the old one goes. The command ends when
the new certificates are what the servers present, to a client that trusts the new
authority alone.

--only etcd is what there is, for a cluster with one control-plane host. etcd is
restarted twice, the API server three times, and the cluster does not answer for
some seconds each time; pods run on. kubeadm's other certificates are renewed along.

Not there, and refused: the authority of the cluster itself, which all kubelets and
all pods that talk to the API server trust, and which the controller manager signs by
only when it is alone in its file; those of the front proxy and of the registry; and
several control-plane hosts, whose programs would have to trust both authorities
before the first of them changes.

The command can be interrupted at any point and run again: it goes on where it
stopped. Codes for further control-plane hosts are revoked, since they bring the old
authority; until the end no new ones are made. Take a backup afterwards (airgap
backup): the ones before hold the old authority.`,
		Example: "  airgap certs rotate-ca --only etcd",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runRotateCA(cmd.Context(), only) },
	}
	cmd.Flags().StringVar(&only, "only", "", "which authority: etcd")
	return cmd
}

func (a *app) runRotateCA(ctx context.Context, only string) error {
	authority, err := replaceable(only)
	if err != nil {
		return err
	}
	if err := mustBeRoot("certs rotate-ca"); err != nil {
		return err
	}
	m := thisMachine()
	cluster, err := kubeadm.LiveCluster(m)
	if err != nil {
		return hint(err, "run it on the control-plane host")
	}
	release, err := lockHost()
	if err != nil {
		return err
	}
	defer release()
	p := a.newProgress()
	done, err := kubeadm.Replacement{Machine: m, Authority: authority, Cluster: cluster, Say: p.Say}.Run(ctx)
	if err != nil {
		return err
	}
	return a.print(done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "the authority of %s is a new one, and has signed %s; the old one is trusted by nobody\n", done.Authority, strings.Join(done.Files, ", "))
		return err
	})
}

// replaceable is the authority by its name, or why it cannot be replaced.
func replaceable(name string) (kubeadm.Authority, error) {
	all := kubeadm.Authorities()
	if i := slices.IndexFunc(all, func(a kubeadm.Authority) bool { return a.Name == name }); i >= 0 {
		return all[i], nil
	}
	const there = "airgap certs rotate-ca --only etcd is what there is"
	switch name {
	case "", "cluster":
		return kubeadm.Authority{}, hint(errors.New("replace the authority of the cluster: airgap cannot do that yet: kubelets and pods of all hosts would have to trust both first"), there+"; by hand: https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/")
	case "front-proxy", "registry":
		return kubeadm.Authority{}, hint(fmt.Errorf("replace the authority of the %s: airgap cannot do that yet", name), there)
	}
	return kubeadm.Authority{}, usage("--only %q: want etcd", name)
}
