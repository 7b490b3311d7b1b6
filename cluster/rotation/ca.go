// Package rotation rotates a CA or the encryption key of Secrets on all hosts of a running cluster. One host
// leads each rotation, and the others follow it.
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

	"airgap.dev/airgap/cluster/clusterlock"
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
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/mirror"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// AuthorityOptions are the flags of airgap certs rotate-ca.
type AuthorityOptions struct {
	Name    string   // one of Authorities
	Pods    string   // policy for pods that trust only the old CA: one of PodsPolicies
	Follow  bool     // follow a rotation that another host leads
	NoSSH   bool     // do not log in to other hosts
	Keys    []string // of --require-key
	Console ui.Console
}

// Replaced is the result of a CA rotation.
type Replaced struct{ pki.CARotated }

// Authorities returns the names of the CAs that can be rotated.
func Authorities() []string {
	var names []string
	for _, a := range rotatableCAs() {
		names = append(names, a.Name)
	}
	return names
}

// PodsPolicies returns the policies for pods that trust only the old CA.
func PodsPolicies() []string {
	return []string{string(pki.WaitForPods), string(pki.RestartPods), string(pki.LeavePods)}
}

// Authority rotates a CA, or follows the host that leads the rotation.
func Authority(ctx context.Context, o AuthorityOptions) (Replaced, error) {
	ca, err := findCA(o.Name)
	if err != nil {
		return Replaced{}, err
	}
	if !slices.Contains(PodsPolicies(), o.Pods) {
		return Replaced{}, advice.Usagef("--pods %q: want wait, restart or leave%s", o.Pods, advice.DidYouMean(o.Pods, PodsPolicies()))
	}
	if err := hostcheck.MustBeInstalled("certs rotate-ca"); err != nil {
		return Replaced{}, err
	}
	m := site.ThisMachine()
	if joined, err := m.Joined(); err != nil || !joined {
		return Replaced{}, errors.Join(err, advice.Add(errors.New("rotate a CA: this host is not a node of an airgap cluster"), "run the command on a host of the cluster"))
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Replaced{}, err
	}
	defer release()
	p := o.Console.Progress()
	r := pki.CARotation{Machine: m.Machine, Authority: ca, Units: []string{nodereport.UnitName, jointoken.ApproverUnit}, Pods: pki.PodsPolicy(o.Pods), Follow: o.Follow, Say: p.Say}
	done, err := rotate(ctx, r, o, p)
	return Replaced{done}, err
}

// rotate leads the rotation if this host can, or follows. Hosts that join later get the new CA from any
// control-plane host.
func rotate(ctx context.Context, r pki.CARotation, o AuthorityOptions, p ui.Progress) (pki.CARotated, error) {
	if _, err := kube.RESTConfig(r.Machine, kube.AdminConf); errors.Is(err, fs.ErrNotExist) {
		return run(ctx, r)
	}
	s, err := site.Stored(o.Keys, "")
	if err != nil {
		return pki.CARotated{}, err
	}
	if o.Follow { // a rotation that another host leads must finish, even during an upgrade
		return lead(ctx, s, r, o, p)
	}
	return clusterlock.During(ctx, clusterlock.Command{Machine: r.Machine, Name: "airgap certs rotate-ca", Node: s.Node.Name, Follows: true, Say: p.Say}, func(ctx context.Context) (pki.CARotated, error) {
		upgrade, err := upgraderecord.Current(ctx, r.Machine, s.Node.Name)
		if err != nil {
			return pki.CARotated{}, err
		}
		pending, err := upgrade.Pending(ctx, s.Machine)
		if err != nil {
			return pki.CARotated{}, err
		}
		if err := upgraderecord.RefuseDuringUpgrade(s, upgrade, pending, "rotate the CA of "+r.Authority.Name); err != nil {
			return pki.CARotated{}, err
		}
		return lead(ctx, s, r, o, p)
	})
}

// lead rotates the CA with the other hosts, as the leader if no other host is.
func lead(ctx context.Context, s *site.Site, r pki.CARotation, o AuthorityOptions, p ui.Progress) (pki.CARotated, error) {
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: o.Console, NoSSH: o.NoSSH || o.Follow})
	if err != nil {
		return pki.CARotated{}, err
	}
	defer f.Close()
	if f != nil {
		r.Others = func(ctx context.Context) error { return f.Follow(ctx, r.Authority, p) }
	}
	done, err := run(ctx, r)
	if err != nil {
		return done, err
	}
	return done, updateJoinFiles(ctx, s, o.Keys, p)
}

// run runs the rotation as an action in the journal.
func run(ctx context.Context, r pki.CARotation) (done pki.CARotated, err error) {
	err = journal.Act("rotate-ca", "Replace the CA of "+r.Authority.Name, func() (err error) { done, err = r.Run(ctx); return err })
	return done, err
}

// updateJoinFiles writes the join files again.
func updateJoinFiles(ctx context.Context, s *site.Site, keys []string, p ui.Progress) error {
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

// findCA returns the CA with this name.
func findCA(name string) (pki.CA, error) {
	all := rotatableCAs()
	if i := slices.IndexFunc(all, func(a pki.CA) bool { return a.Name == name }); i >= 0 {
		return all[i], nil
	}
	return pki.CA{}, advice.Usagef("--only %q: want one of %s%s", name, strings.Join(Authorities(), ", "), advice.DidYouMean(name, Authorities()))
}

// rotatableCAs returns the CAs of kubeadm and of the registries.
func rotatableCAs() []pki.CA {
	return append(pki.CAs(), registryCA())
}

// registryCA returns the CA of the registries. The runtime, dnf, airgap's units and joining hosts trust it;
// joining hosts get its hash with their command. The runtime reads it at each pull.
func registryCA() pki.CA {
	own := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	return pki.OtherCA("registry", own.CAFile(), own.CAKeyFile(), []string{own.CertificateFile()}, pki.Other{
		Make: func() (certificate, key []byte, err error) { return trust.NewAuthority(time.Now()) },
		Sign: func(context.Context) error { return own.Reissue(time.Now()) },
		Trust: func(ctx context.Context) error {
			if err := mirror.RetrustCRIO(runtime.CRIOContainers, own.CAFile()); err != nil {
				return err
			}
			for _, unit := range []string{registry.UnitName, nodereport.UnitName} {
				if _, err := (host.Local{}).Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"try-restart", unit}}); err != nil {
					return advice.Add(fmt.Errorf("restart %s: %w", unit, err), "read journalctl -u %s; then run the same command again: it continues from here", unit)
				}
			}
			return nil
		},
	})
}

// Write prints the new trust of this host, and the workloads that still trust the old CA.
func (r Replaced) Write(w io.Writer) error {
	if r.Leader != "" {
		fmt.Fprintf(w, "%s led the rotation and finished it\n", r.Leader)
	}
	fmt.Fprintf(w, "the CA of %s is new and has signed %s; this host does not trust the old one\n", r.Authority, strings.Join(r.Files, ", "))
	for _, workload := range r.Trusting {
		fmt.Fprintf(w, "this workload also trusts the old one until its pods restart: %s\n", workload)
	}
	return nil
}
