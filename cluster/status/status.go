// Package status is the first look at a host: installed components, drift, next actions.
package status

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/outlier"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// Status is the state of airgap on this host.
type Status struct {
	Cluster     string            `json:"cluster,omitempty"` // its name
	Kubernetes  string            `json:"kubernetes,omitempty"`
	Node        string            `json:"node,omitempty"` // this host's
	Address     string            `json:"address,omitempty"`
	Roles       []config.Role     `json:"roles"`
	Bundle      *store.Bundle     `json:"bundle,omitempty"`      // that this host was installed from
	From        string            `json:"from,omitempty"`        // where it lies: the store; the index that came with join
	Store       []store.Bundle    `json:"bundles"`               // every bundle of this host's store
	Registry    string            `json:"registry"`              // "answers at ADDRESS:PORT", "silent: …", "none", "unknown: …"
	Lags        []registry.Lag    `json:"lags,omitempty"`        // how far the registry is behind the others
	Damage      []registry.Damage `json:"damage,omitempty"`      // of bundles, as far as the registry has read them
	Busy        bool              `json:"busy"`                  // a command is changing this host right now
	Interrupted string            `json:"interrupted,omitempty"` // the step at which the last run was interrupted
	Steps       []stepStatus      `json:"steps"`
	Drifted     []string          `json:"drifted"` // names of completed steps with a changed result
	Problems    []string          `json:"problems"`

	Host         string              `json:"host,omitempty"` // its name
	System       string              `json:"system,omitempty"`
	Kernel       string              `json:"kernel,omitempty"`
	Program      string              `json:"program,omitempty"`      // version of airgap
	Health       *clusterHealth      `json:"health,omitempty"`       // of the cluster, in one line
	Certificates []certs.Certificate `json:"certificates,omitempty"` // that end soon, or have ended
	Backup       *keptBackup         `json:"backup,omitempty"`       // the newest
	Unsaved      bool                `json:"unsaved,omitempty"`      // a control-plane host without a backup
	Conclusion   string              `json:"conclusion"`             // the overall state in one line
	Next         []string            `json:"next,omitempty"`         // next actions

	Traits   []outlier.Trait     `json:"traits,omitempty"`   // settings that the hosts of a cluster usually share
	Changing *clusterlock.Holder `json:"changing,omitempty"` // the command that changes the cluster, on any host

	Running []report.RunningProgram `json:"running,omitempty"` // airgap's services, with the versions that they run

	Owed   []owed.Debt  `json:"owed,omitempty"`   // hosts that commands left out
	Absent []absentNode `json:"absent,omitempty"` // by airgap.yaml

	command string    // that installed this host, or started to
	copied  string    // its argument without the USB drive
	now     time.Time // time of the status
	All     bool      `json:"-"` // on the screen: each step, also those that hold

	addresses map[string]string // of the nodes
}

// stepTimeout bounds the question whether one step holds, so that a status
// comes also from a host where something hangs.
const stepTimeout = 15 * time.Second

// Read collects the available data. Missing data is a problem in the output: users
// ask for the status when something is broken.
func Read(ctx context.Context, keys []string, node string) *Status {
	st := &Status{Registry: "none", Busy: errors.Is(hostcheck.HostAtRest(), hostcheck.ErrBusy), now: time.Now()}
	st.tellHost(host.Local{})
	st.Traits = preflight.Traits(ctx, host.Local{})
	entries, err := step.OpenJournal(site.JournalFile).Entries()
	st.problem(err)
	k, err := LocalKnown(keys, node)
	st.problem(err)
	defer k.Close()
	for _, b := range k.stored {
		st.Store = append(st.Store, store.Describe(b.Index()))
	}
	var now []step.Forecast
	if k.Site != nil {
		st.describe(k)
		var health registry.Health
		st.Registry, health = askRegistry(ctx, k.Site)
		st.Lags, st.Damage = health.Lags, health.Damage
		if health.Problem != "" {
			st.Problems = append(st.Problems, health.Problem)
		}
		st.tellNotServed(health.NotServed)
		for _, repository := range health.Hidden {
			st.Problems = append(st.Problems, "images in "+repository+" are not served: the name is reserved for bundles; push them under another name, such as team/app")
		}
		if k.Site.ServesRegistry() && strings.HasPrefix(st.Registry, "answers") {
			st.Running = append(st.Running, report.RunningProgram{Unit: registry.UnitName, Version: report.RunningVersion(health)})
		}
		now = step.Check(ctx, k.steps, stepTimeout)
	}
	st.tellAbsent(k.Site)
	st.tellHealth(ctx, site.ThisMachine())
	st.tellOwed(ctx, k.Site, owed.Record)
	if runs, err := report.ApproverVersion(ctx, host.Local{}); err == nil && runs != "" {
		st.Running = append(st.Running, report.RunningProgram{Unit: jointoken.ApproverUnit, Version: runs})
	}
	if runs := reportingVersion(ctx); runs != "" {
		st.Running = append(st.Running, report.RunningProgram{Unit: nodereport.UnitName, Version: runs})
	}
	st.tellOutdated()
	st.judge(entries, now)
	st.Conclusion, st.Next = st.conclusion(), st.whatToDo()
	return st
}

func (st *Status) problem(err error) {
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w (root sees more)", err)
	}
	if err != nil && !slices.Contains(st.Problems, err.Error()) {
		st.Problems = append(st.Problems, err.Error())
	}
}

// tellNotServed adds what the registry reports and this command has not found itself.
func (st *Status) tellNotServed(problems []string) {
	for _, p := range problems {
		if !slices.ContainsFunc(st.Problems, func(known string) bool { return strings.Contains(known, p) }) {
			st.Problems = append(st.Problems, "the registry does not serve a bundle: "+p)
		}
	}
}

func (st *Status) describe(k *Known) {
	st.Cluster, st.Kubernetes = k.Site.Config.Name, k.Site.Config.Kubernetes.Tag()
	st.Node, st.Address, st.Roles = k.Site.Node.Name, k.Site.Node.Address, k.Site.Node.Roles
	held := store.Describe(k.Site.Index)
	st.Bundle, st.From, st.command, st.copied = &held, k.from, k.command, k.copied
}

// Known has the installation data from a host's files.
type Known struct {
	stored  []*bundle.Bundle
	Site    *site.Site // nil when nothing tells
	steps   []step.Step
	from    string
	command string
	copied  string // directory of the bundle's copy that command takes as well as the stick's; "": none
}

// Close closes the bundles.
func (k *Known) Close() {
	for _, b := range k.stored {
		b.Close()
	}
}

// LocalKnown reads the newest bundle of the store, or the index that a worker
// keeps. A host on which airgap never got so far has neither.
func LocalKnown(keys []string, node string) (*Known, error) {
	k := &Known{}
	store := registry.Store{Dir: site.StoreDir}
	names, err := store.List()
	if err != nil || len(names) == 0 && !site.Exists(site.IndexDir) {
		return k, errors.Join(err, store.Unavailable())
	}
	t, err := site.TrustedKeys(keys, append(site.StoredBundles(site.StoreDir), site.IndexDir)...)
	if err != nil {
		return k, err
	}
	var broken error
	k.stored, broken = store.Open(t.Keys...)
	if len(k.stored) > 0 {
		err = k.asMaster(bundle.NewView(bundle.NewestFirst(k.stored)...), t, node)
	} else if site.Exists(site.IndexDir) {
		err = k.asWorker(t, node)
	}
	return k, errors.Join(broken, err)
}

// asMaster is a host with a store: the first, or one that joined it.
func (k *Known) asMaster(v *bundle.View, t *site.Trust, node string) (err error) {
	if k.Site, err = site.New(v.Top().Index(), node); err != nil {
		return err
	}
	k.from, k.command, k.Site = site.StoreDir, "install", k.Site.With(site.Given{Required: t.Required})
	if k.Site.Node.Name == k.Site.Config.Master().Name {
		k.copied = v.Top().Dir()
		k.steps, err = install.Steps(k.Site, v, t.Keys, ui.Discard())
		return err
	}
	k.command = "join"
	h, errHub := recall(k.Site, v.Top().Index(), t.Keys)
	k.steps, err = join.AllSteps(k.Site, h, v)
	return errors.Join(errHub, err)
}

func (k *Known) asWorker(t *site.Trust, node string) error {
	signed, err := bundle.ReadSigned(site.IndexDir, t.Keys...)
	if err != nil {
		return err
	}
	if k.Site, err = site.New(signed.Index, node); err != nil {
		return err
	}
	k.from, k.command, k.Site = site.IndexDir, "join", k.Site.With(site.Given{Required: t.Required})
	h, err := recall(k.Site, signed.Index, t.Keys)
	if err != nil {
		return err
	}
	h.Signed = signed.Files
	k.steps, err = join.AllSteps(k.Site, h, bundle.NewView())
	return err
}

// recall returns the stored data of the hub, for the postconditions of the join steps. The step of a
// missing CA reports it.
func recall(s *site.Site, index *bundle.Index, keys []*ecdsa.PublicKey) (*join.Server, error) {
	ca, err := os.ReadFile(trust.PKI{Dir: site.PKIDir}.CAFile())
	return &join.Server{Addr: s.RegistryOf(s.Config.Master()), CA: ca, Index: index, Trusted: keys}, host.IgnoreMissing(err)
}

// askRegistry returns the state of this host's registry, and its health.
func askRegistry(ctx context.Context, s *site.Site) (string, registry.Health) {
	var none registry.Health
	client, err := verification.RegistryClient(s)
	if err != nil {
		return "unknown: " + err.Error(), none
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	health, err := client.Health(ctx)
	if err != nil {
		return "silent: " + err.Error(), none
	}
	return "answers at " + s.RegistryAddr(), health
}
