package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	kubenode "airgap.dev/airgap/kubeadm/node"
)

// leading returns the site for an upgrade from this host, without the nodes that the cluster has removed. The upgrade
// runs on the first control-plane host of the others, or with takeOver on any control-plane host.
func leading(ctx context.Context, s *site.Site, takeOver bool) (*site.Site, error) {
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil { // a worker, or no cluster
		return s, leads(s)
	}
	return leadingBy(ctx, client, s, takeOver)
}

func leadingBy(ctx context.Context, client kubernetes.Interface, s *site.Site, takeOver bool) (*site.Site, error) {
	s, err := s.FetchRemoved(ctx, client)
	if err != nil || !takeOver || !s.ServesRegistry() || leads(s) == nil {
		if err == nil {
			err = leads(s)
		}
		return s, err
	}
	first := s.Config.Master().Name
	n, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.Node, error) {
		return client.CoreV1().Nodes().Get(ctx, first, metav1.GetOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		return s, nil
	case err != nil:
		return nil, advice.Add(fmt.Errorf("get node %s: %w", first, err), findCause)
	case !kube.NodeReady(n):
		return nil, advice.Add(fmt.Errorf("upgrade on %s: %s, the first control-plane host, is not ready, and would be upgraded from here", s.Node.Name, first),
			"if it is lost, run airgap remove %s --force here, and the same command again; if it is booting, wait until it is ready", first)
	}
	return s, nil
}

// leads returns an error if another host is the first control-plane host.
func leads(s *site.Site) error {
	first := s.Config.Master().Name
	switch {
	case s.Node.Name == first:
		return nil
	case !s.ServesRegistry():
		return advice.Add(fmt.Errorf("upgrade on %s: this host is not the first control-plane host, %s", s.Node.Name, first), "run the same command on %s", first)
	}
	return advice.Add(fmt.Errorf("upgrade on %s: this host is not the first control-plane host, %s", s.Node.Name, first),
		"run the same command on %[1]s; if %[1]s is lost, run airgap remove %[1]s --force here, and the same command again; to upgrade %[1]s from here, add --take-over", first)
}

// adoptRecord reads the record of the upgrade. If another host has led it, it writes that record on this host.
func adoptRecord(ctx context.Context, s *site.Site, say func(string, ...any)) (upgraderecord.Record, error) {
	own, err := upgraderecord.Read()
	if err != nil {
		return own, err
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	switch {
	case err == nil:
		return adoptFrom(ctx, client, s.Node.Name, own, say)
	case own.InProgress() && own.Changed: // a power cut may have torn the file
		err = nil
	}
	return own, err
}

// ownIsEnough is the time that the cluster has to show another host's record, if this host has one of a changed host.
const ownIsEnough = 10 * time.Second

func adoptFrom(ctx context.Context, client kubernetes.Interface, name string, own upgraderecord.Record, say func(string, ...any)) (upgraderecord.Record, error) {
	limited, enough := own.InProgress() && own.Changed, ctx
	if limited {
		var cancel context.CancelFunc
		enough, cancel = context.WithTimeout(ctx, ownIsEnough)
		defer cancel()
	}
	leader, err := upgraderecord.Adopt(enough, client, name)
	if err != nil && limited { // the upgrade may have broken the API server
		leader, err = "", nil
	}
	switch {
	case ctx.Err() != nil:
		return own, ctx.Err()
	case err != nil:
		return own, advice.Add(errors.Join(errors.New("find out whether another control-plane host has begun an upgrade"), err), findCause)
	case leader == "":
		return own, nil
	}
	record, err := upgraderecord.Read()
	if err == nil && record.InProgress() {
		say("%s began the upgrade to bundle %s on %s: it continues on this host", leader, record.To.Name, record.Began.Local().Format(time.DateTime))
		warnOfBackup(record, name, say)
	}
	return record, err
}

// record returns the record of the upgrade to roll back. If no host was changed by the record of this host, another one
// may have continued the upgrade.
func (o BackOptions) record(ctx context.Context, joined bool) (upgraderecord.Record, error) {
	own, err := upgraderecord.Read()
	if err != nil || o.Of != "" || !joined || own.Changed || own.HasRollback() {
		return own, err
	}
	m := site.ThisMachine()
	name, err := kubenode.Name(m.Machine)
	if err != nil {
		return own, err
	}
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if errors.Is(err, fs.ErrNotExist) { // a worker
		return own, nil
	}
	if err != nil {
		return own, err
	}
	return adoptFrom(ctx, client, name, own, ui.Teller(o.Console))
}

// shareStep returns the step that copies the record into the cluster.
func (u *upgrade) shareStep(name, title string) step.Step {
	return upgraderecord.ShareStep(name, title, u.site.Node.Name, func() (kubernetes.Interface, error) { return u.client, nil })
}
