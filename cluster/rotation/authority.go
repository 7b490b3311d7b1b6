// Package rotation replaces what the trust of a cluster rests on, on all hosts and without a stop:
// an authority, the key of Secrets. Each rotation is led by one host, which the others follow.
package rotation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

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
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// AuthorityOptions say which authority is replaced, and with whom.
type AuthorityOptions struct {
	Name    string   // one of Authorities
	Pods    string   // what becomes of pods that trust the old one alone: one of PodsPolicies
	Follow  bool     // take part in what another host leads
	NoSSH   bool     // log in on no other host
	Keys    []string // of --require-key
	Console ui.Console
}

// Replaced is what an authority was replaced by, and where.
type Replaced struct{ pki.Replaced }

// Authorities are the names of those that can be replaced.
func Authorities() []string {
	var names []string
	for _, a := range authorities() {
		names = append(names, a.Name)
	}
	return names
}

// PodsPolicies are what may become of pods that trust the old authority alone.
func PodsPolicies() []string {
	return []string{string(pki.WaitForPods), string(pki.RestartPods), string(pki.LeavePods)}
}

// Authority puts a new authority in the place of one, or follows the host that does.
func Authority(ctx context.Context, o AuthorityOptions) (Replaced, error) {
	authority, err := replaceable(o.Name)
	if err != nil {
		return Replaced{}, err
	}
	if !slices.Contains(PodsPolicies(), o.Pods) {
		return Replaced{}, advice.Usagef("--pods %q: want wait, restart or leave", o.Pods)
	}
	if err := hostcheck.MustBeRoot("certs rotate-ca"); err != nil {
		return Replaced{}, err
	}
	m := site.ThisMachine()
	if joined, err := m.Joined(); err != nil || !joined {
		return Replaced{}, errors.Join(err, advice.Add(errors.New("replace an authority: airgap has not made this host a node"), "run it on a host of the cluster"))
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Replaced{}, err
	}
	defer release()
	p := o.Console.Progress()
	r := pki.Replacement{Machine: m.Machine, Authority: authority, Units: []string{nodereport.UnitName, joincode.ApproverUnit}, Pods: pki.PodsPolicy(o.Pods), Follow: o.Follow, Say: p.Say}
	done, err := replace(ctx, r, o, p)
	return Replaced{done}, err
}

// replace leads, where this host can, or follows. Hosts that join later learn of the
// new authority from every host with a control plane.
func replace(ctx context.Context, r pki.Replacement, o AuthorityOptions, p ui.Progress) (pki.Replaced, error) {
	if _, err := kube.RESTConfig(r.Machine, kube.AdminConf); errors.Is(err, fs.ErrNotExist) {
		return r.Run(ctx)
	}
	s, err := site.Stored(o.Keys, "")
	if err != nil {
		return pki.Replaced{}, err
	}
	if !o.Follow { // once another host leads, nothing but the end of it helps
		upgrade, err := upgraderecord.Read()
		if err != nil {
			return pki.Replaced{}, err
		}
		pending, err := upgrade.Pending(ctx, s.Machine)
		if err != nil {
			return pki.Replaced{}, err
		}
		if err := upgraderecord.RefuseDuringUpgrade(s, upgrade, pending, "rotate the CA of "+r.Authority.Name); err != nil {
			return pki.Replaced{}, err
		}
	}
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: o.Console, NoSSH: o.NoSSH || o.Follow})
	if err != nil {
		return pki.Replaced{}, err
	}
	defer f.Close()
	if f != nil {
		r.Others = func(ctx context.Context) error { return f.Follow(ctx, r.Authority, p) }
	}
	done, err := r.Run(ctx)
	if err != nil {
		return done, err
	}
	return done, layOut(ctx, s, o.Keys, p)
}

// layOut writes again what joining hosts read.
func layOut(ctx context.Context, s *site.Site, keys []string, p ui.Progress) error {
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
func replaceable(name string) (pki.Authority, error) {
	all := authorities()
	if i := slices.IndexFunc(all, func(a pki.Authority) bool { return a.Name == name }); i >= 0 {
		return all[i], nil
	}
	return pki.Authority{}, advice.Usagef("--only %q: want one of %s", name, strings.Join(Authorities(), ", "))
}

// authorities are kubeadm's, and the one of the hosts' registries.
func authorities() []pki.Authority {
	return append(pki.Authorities(), registryAuthority())
}

// registryAuthority is trusted by the runtime, by dnf and by airgap's own units, and by
// the joining hosts that got its hash with their line. The runtime reads it at each pull.
func registryAuthority() pki.Authority {
	own := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	return pki.OtherAuthority("registry", own.CAFile(), own.CAKeyFile(), []string{own.CertificateFile()}, pki.Other{
		Make: func() (certificate, key []byte, err error) { return trust.NewAuthority(time.Now()) },
		Sign: func(context.Context) error { return own.Reissue(time.Now()) },
		Trust: func(ctx context.Context) error {
			if err := registry.RetrustCRIO(runtime.CRIOContainers, own.CAFile()); err != nil {
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

// Write says what this host trusts now, and who still trusts the old authority.
func (r Replaced) Write(w io.Writer) error {
	if r.Leader != "" {
		fmt.Fprintf(w, "%s led the replacement to its end\n", r.Leader)
	}
	fmt.Fprintf(w, "the authority of %s is a new one, and has signed %s; this host does not trust the old one\n", r.Authority, strings.Join(r.Files, ", "))
	for _, workload := range r.Trusting {
		fmt.Fprintf(w, "trusts the old one, too, until its pods are started again: %s\n", workload)
	}
	return nil
}
