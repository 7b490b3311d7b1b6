package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
)

// savedCluster is a backup that was found whole, with all that a restore takes
// from it.
type savedCluster struct {
	*backup.Contents
	etcd      kubeadm.SnapshotInfo
	keys      kubeadm.Parcel
	ca, caKey []byte // the registry's authority
}

// openBackup reads and checks the whole of a backup.
func openBackup(ctx context.Context, dir string) (*savedCluster, error) {
	c, err := backup.Open(dir)
	if err != nil {
		return nil, hint(err, "name the directory that holds etcd.db and SHA256SUMS, in "+backupDir+" or a copy of it")
	}
	pki := registry.PKI{Dir: pkiDir}
	s := &savedCluster{Contents: c}
	if s.etcd, err = c.Check(ctx, time.Now(), pki.CAFile(), pki.CAKeyFile()); err != nil {
		return nil, err
	}
	if s.keys, err = c.Keys(time.Now()); err != nil {
		return nil, err
	}
	if s.ca, err = c.File(pki.CAFile()); err != nil {
		return nil, err
	}
	if s.caKey, err = c.File(pki.CAKeyFile()); err != nil {
		return nil, err
	}
	return s, registry.CheckAuthority(s.ca, s.caKey, time.Now())
}

// requiredKeys are the values of --require-key, else what the backup's host held to.
func (s *savedCluster) requiredKeys(values []string) []string {
	if text, err := s.File(requiredFile); err == nil && len(values) == 0 {
		return strings.Fields(string(text))
	}
	return values
}

// choice is how pods' packets travelled; nil where airgap.yaml says it.
func (s *savedCluster) choice() (*networkChoice, error) {
	path := filepath.Join(networkDir, choiceName)
	if !s.Has(path) {
		return nil, nil
	}
	text, err := s.File(path)
	if err != nil {
		return nil, err
	}
	return parseChoice(text)
}

// restoration brings a saved cluster to this host.
type restoration struct {
	site *site
	from *savedCluster
}

// check is all that can be known before anything is changed, but for preflight.
func (r restoration) check(ctx context.Context) error {
	s, k := r.site, r.site.config.Kubernetes
	if !s.servesRegistry() {
		return hint(fmt.Errorf("restore on %s: by airgap.yaml it is no control-plane host", s.node.Name), "run airgap restore on one of those; this host joins then")
	}
	differs := r.from.Agrees(k)
	if name := r.from.Cluster; name != "" && name != s.config.Name {
		differs = errors.Join(fmt.Errorf("the cluster's name was %s, and is %s in airgap.yaml", name, s.config.Name), differs)
	}
	if differs != nil {
		return hint(fmt.Errorf("restore %s from bundle %s: it is not the same cluster:\n%w", r.from.Dir, s.index.Name, differs), "use the bundle that the cluster was installed from, or one that was made of the same airgap.yaml")
	}
	if err := r.hostIsFree(); err != nil {
		return err
	}
	choice, err := r.from.choice()
	if err != nil {
		return err
	}
	s.take(choice)
	founds, err := s.machine.Founds()
	if err != nil || !founds {
		return err
	}
	if kubeadm.ClusterAt(ctx, k.ControlPlaneEndpoint) {
		return hint(fmt.Errorf("an API server answers at %s: the cluster is not lost, or a part of it lives on", k.ControlPlaneEndpoint),
			"airgap join brings a host back into a cluster that lives; to go back to the backup all the same, run airgap reset --wipe-data on its control-plane hosts first")
	}
	return nil
}

// hostIsFree wants a host on which nobody has begun anything but this very restore.
func (r restoration) hostIsFree() error {
	here, err := restoredHere()
	if err != nil {
		return err
	}
	if here != nil && here.Backup == r.from.Sums {
		return nil
	}
	standing, err := step.OpenJournal(journalFile).Standing(resetSteps(false))
	if err != nil {
		return err
	}
	if here == nil && !slices.ContainsFunc(standing, func(s step.Step) bool { return s.Name != "record" }) {
		return nil
	}
	what := "airgap has installed, or begun to install, this host already"
	if here != nil {
		what = fmt.Sprintf("this host was restored from another backup, that of %s", here.Taken.Format(time.RFC3339))
	}
	return hint(errors.New(what), "airgap reset takes that back; then run the same command again")
}

// restoredFrom is what a host keeps in mind of the backup that it was restored from.
type restoredFrom struct {
	Backup string    `json:"backup"` // SHA-256 of its SHA256SUMS
	Of     string    `json:"of"`     // the host that it was taken on
	Taken  time.Time `json:"taken,omitzero"`
}

const restoredName = "backup.json"

func restoredHere() (*restoredFrom, error) {
	path := filepath.Join(restoredDir, restoredName)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var from restoredFrom
	if err == nil {
		err = json.Unmarshal(text, &from)
	}
	if err != nil {
		return nil, fmt.Errorf("read which backup this host is restored from: %w", err)
	}
	return &from, nil
}

// steps are those of an installation. Some are given what the backup has, where a
// new cluster would make its own.
func (r restoration) steps(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) []step.Step {
	s, m, k := r.site, r.site.machine, r.site.config.Kubernetes
	steps := s.installSteps(v, trusted, p)
	instead(steps, kubeadm.Encryption(m, k.EncryptionAtRest, func(context.Context) ([]byte, error) { return r.from.keys[kubeadm.EncryptionFile], nil }))
	instead(steps, kubeadm.Restore(m, k, s.kubeNode(), s.facts, kubeadm.Saved{Keys: r.from.keys, Snapshot: r.from.Snapshot()}))
	steps = insertAfter(steps, "kubeadm", kubeadm.RevokeOld(m, r.from.etcd.Revision))
	return insertAfter(steps, "record", r.inherited()...)
}

// again are the steps for a host that had that very cluster, and has left it: what it
// shares with the other hosts is there.
func (r restoration) again(v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) []step.Step {
	s, m, k := r.site, r.site.machine, r.site.config.Kubernetes
	steps := s.installSteps(v, trusted, p)
	instead(steps, kubeadm.Restore(m, k, s.kubeNode(), s.facts, kubeadm.Saved{Keys: r.from.keys, Snapshot: r.from.Snapshot()}))
	return insertAfter(steps, "kubeadm", kubeadm.RevokeOld(m, r.from.etcd.Revision))
}

// inherited are the steps that a new cluster has none of.
func (r restoration) inherited() []step.Step {
	pki := registry.PKI{Dir: pkiDir, Group: serviceGroup}
	steps := []step.Step{
		r.historyStep(),
		r.untilFounded(registry.AuthorityStep(pki, r.from.ca, func(context.Context) ([]byte, error) { return r.from.caKey, nil })),
	}
	if users, err := r.from.File(usersFile); err == nil {
		steps = append(steps, r.untilFounded(registry.UsersStep(registry.Users{File: usersFile, Group: serviceGroup}, users)))
	}
	return steps
}

// historyStep keeps which backup it is, so that a second run knows its own work,
// and what the old host's journal said.
func (r restoration) historyStep() step.Step {
	about, err := json.MarshalIndent(restoredFrom{r.from.Sums, r.from.Node, r.from.Taken}, "", "  ")
	files := map[string][]byte{restoredName: about}
	if journal, missing := r.from.File(journalFile); missing == nil {
		files[filepath.Base(journalFile)] = journal
	}
	s := filesStep("restored", "Keep what the backup says of its host", restoredDir, files)
	if err != nil {
		s.Done = func(context.Context) (bool, error) { return false, err }
	}
	return s
}

// untilFounded is a step for the way to the cluster only. Once there, what it brought
// may change, and a second run of the command must not set it back.
func (r restoration) untilFounded(s step.Step) step.Step {
	done := s.Done
	s.Done = func(ctx context.Context) (bool, error) {
		if there, err := r.site.machine.Joined(); there || err != nil {
			return there, err
		}
		return done(ctx)
	}
	return s
}

// instead puts a step in the place of that of the same name, where there is one.
func instead(steps []step.Step, s step.Step) {
	if i := slices.IndexFunc(steps, func(o step.Step) bool { return o.Name == s.Name }); i >= 0 {
		steps[i] = s
	}
}

// insertAfter puts steps behind that of a name.
func insertAfter(steps []step.Step, name string, more ...step.Step) []step.Step {
	i := slices.IndexFunc(steps, func(o step.Step) bool { return o.Name == name })
	return slices.Insert(steps, i+1, more...)
}
