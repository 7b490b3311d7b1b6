package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

type rotateCAOptions struct {
	only, pods    string
	follow, noSSH bool
	keys          []string
}

func (a *app) certsRotateCA() *cobra.Command {
	var o rotateCAOptions
	cmd := &cobra.Command{
		Use:   "rotate-ca",
		Short: "Replace an authority of the cluster by a new one, on all hosts that trust it",
		Long: `Makes a new authority and has it take the old one's place, so that no program ever
meets a certificate that it does not trust: first everybody trusts both, then every
certificate is made anew by the new one, then the old one goes. One authority at a
time, by --only:

  cluster      signs the API server, kubelets and administrators; all hosts and all
               pods that talk to the API server trust it
  front-proxy  signs the API server, for extension API servers
  etcd         signs etcd's members and their clients
  registry     signs the hosts' registries; runtimes, dnf and joining hosts trust it

Run it on a control-plane host. With ssh in airgap.yaml it has the others take part;
without, or with --no-ssh, run it with --follow on each of them: those with a control
plane for etcd and front-proxy, all for cluster and registry. Hosts with a control plane take
turns, and with several of them the API server answers all the while but for what the
balancer takes to notice. Pods run on, with one exception:

Pods read the cluster's authority when they are started, and many never again. Those
of kubeadm and airgap are started anew. For others the command waits, and says which
they are, until somebody has done so; --pods restart does it by their Deployment,
DaemonSet or StatefulSet, --pods leave goes on without: programs that read the file
once lose the API server then. At the end the command lists whose pods still trust the
old authority beside the new one.

Copies of admin.conf and certificates for people, which the old authority has signed,
are of no use afterwards. Codes for joining are revoked. Until the end no new ones are
made, and airgap install, join and upgrade are refused. Take a backup afterwards
(airgap backup): the ones before hold the old authority, and hosts of today do not
trust a cluster that is restored from them.

The command can be interrupted at any point and run again on the same hosts: it goes
on where it stopped. After the registry's authority join lines have another --ca-hash
(airgap join --new-code prints them), receipts another --receipt-key, and who
pushes images has to get the new certificate, ` + trust.PKI{Dir: site.PKIDir}.CAFile() + `.`,
		Example: "  airgap certs rotate-ca --only cluster --pods restart\n  airgap certs rotate-ca --only etcd --no-ssh\n  airgap certs rotate-ca --only etcd --follow",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runRotateCA(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.only, "only", "", "which authority: "+strings.Join(authorityNames(), ", "))
	cmd.Flags().StringVar(&o.pods, "pods", string(kubeadm.WaitForPods), "pods that trust the old authority alone: wait, restart or leave")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "take part in what another host leads")
	cmd.Flags().BoolVar(&o.noSSH, "no-ssh", false, "do not log in on other hosts: somebody runs it there with --follow")
	keyFlags(cmd, &o.keys)
	return cmd
}

func authorityNames() []string {
	var names []string
	for _, a := range authorities() {
		names = append(names, a.Name)
	}
	return names
}

func (a *app) runRotateCA(ctx context.Context, o rotateCAOptions) error {
	authority, err := replaceable(o.only)
	if err != nil {
		return err
	}
	pods := kubeadm.PodsPolicy(o.pods)
	if !slices.Contains([]kubeadm.PodsPolicy{kubeadm.WaitForPods, kubeadm.RestartPods, kubeadm.LeavePods}, pods) {
		return advice.Usagef("--pods %q: want wait, restart or leave", o.pods)
	}
	if err := hostcheck.MustBeRoot("certs rotate-ca"); err != nil {
		return err
	}
	m := site.ThisMachine()
	if joined, err := m.Joined(); err != nil || !joined {
		return errors.Join(err, advice.Add(errors.New("replace an authority: airgap has not made this host a node"), "run it on a host of the cluster"))
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	p := a.newProgress()
	r := kubeadm.Replacement{Machine: m, Authority: authority, Units: []string{nodereport.UnitName, kubeadm.ApproverUnit}, Pods: pods, Follow: o.follow, Say: p.Say}
	done, err := a.replace(ctx, r, o, p)
	if err != nil {
		return err
	}
	return a.print(done, func(w io.Writer) error { return writeReplaced(w, done) })
}

// replace leads, where this host can, or follows. Hosts that join later learn of the
// new authority from every host with a control plane.
func (a *app) replace(ctx context.Context, r kubeadm.Replacement, o rotateCAOptions, p ui.Progress) (kubeadm.Replaced, error) {
	if _, err := r.Machine.RESTConfig(kubeadm.AdminConf); errors.Is(err, fs.ErrNotExist) {
		return r.Run(ctx)
	}
	s, err := site.Stored(o.keys, "")
	if err != nil {
		return kubeadm.Replaced{}, err
	}
	if !o.follow { // once another host leads, nothing but the end of it helps
		upgrade, err := upgraderecord.Read()
		if err != nil {
			return kubeadm.Replaced{}, err
		}
		away, err := upgrade.Away(ctx, s.Machine)
		if err != nil {
			return kubeadm.Replaced{}, err
		}
		if err := upgraderecord.RefuseAmidUpgrade(s, upgrade, away, "replace the authority of "+r.Authority.Name); err != nil {
			return kubeadm.Replaced{}, err
		}
	}
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: a.terminal(), NoSSH: o.noSSH || o.follow})
	if err != nil {
		return kubeadm.Replaced{}, err
	}
	defer f.Close()
	if f != nil {
		r.Others = func(ctx context.Context) error { return f.Follow(ctx, r.Authority, p) }
	}
	done, err := r.Run(ctx)
	if err != nil {
		return done, err
	}
	return done, tellWhoJoins(ctx, s, o.keys, p)
}

// tellWhoJoins lays out anew what joining hosts read.
func tellWhoJoins(ctx context.Context, s *site.Site, keys []string, p ui.Progress) error {
	t, err := site.TrustedKeys(keys, site.StoredBundles(site.StoreDir)...)
	if err != nil {
		return err
	}
	v, err := s.Store.Named(s.Index.Name, t.Keys...)
	if err != nil {
		return err
	}
	defer v.Close()
	_, err = journal.Run(ctx, []step.Step{join.MaterialStep(s, v.Top())}, p)
	return err
}

// replaceable is the authority by its name.
func replaceable(name string) (kubeadm.Authority, error) {
	all := authorities()
	if i := slices.IndexFunc(all, func(a kubeadm.Authority) bool { return a.Name == name }); i >= 0 {
		return all[i], nil
	}
	return kubeadm.Authority{}, advice.Usagef("--only %q: want one of %s", name, strings.Join(authorityNames(), ", "))
}

// authorities are kubeadm's, and the one of the hosts' registries.
func authorities() []kubeadm.Authority {
	return append(kubeadm.Authorities(), registryAuthority())
}

// registryAuthority is trusted by the runtime, by dnf and by airgap's own units, and by
// the joining hosts that somebody has told its hash. The runtime reads it at each pull.
func registryAuthority() kubeadm.Authority {
	pki := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	return kubeadm.OtherAuthority("registry", pki.CAFile(), pki.CAKeyFile(), []string{pki.CertificateFile()}, kubeadm.Other{
		Make: func() (certificate, key []byte, err error) { return trust.NewAuthority(time.Now()) },
		Sign: func(context.Context) error { return pki.Reissue(time.Now()) },
		Trust: func(ctx context.Context) error {
			if err := registry.RetrustCRIO(runtime.CRIOContainers, pki.CAFile()); err != nil {
				return err
			}
			for _, unit := range []string{registry.UnitName, nodereport.UnitName} {
				if _, err := (host.Local{}).Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"try-restart", unit}}); err != nil {
					return advice.Add(fmt.Errorf("restart %s: %w", unit, err), "journalctl -u %s has more; run the same command again: it goes on here", unit)
				}
			}
			return nil
		},
	})
}

func writeReplaced(w io.Writer, r kubeadm.Replaced) error {
	if r.Leader != "" {
		fmt.Fprintf(w, "%s led the replacement to its end\n", r.Leader)
	}
	fmt.Fprintf(w, "the authority of %s is a new one, and has signed %s; this host does not trust the old one\n", r.Authority, strings.Join(r.Files, ", "))
	for _, workload := range r.Trusting {
		fmt.Fprintf(w, "trusts the old one, too, until its pods are started anew: %s\n", workload)
	}
	return nil
}
