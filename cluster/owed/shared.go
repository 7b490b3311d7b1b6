package owed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// SharedName is the ConfigMap in kube-system with the record for all control-plane hosts: the host that left others out may
// be lost.
const SharedName = "airgap-owed"

const (
	sharedKey = "debts"
	maxShared = 900 << 10 // bytes: a ConfigMap has at most 1 MiB
	minWhy    = 60        // characters of a reason if there are too many
)

// fetch returns the ConfigMap and its debts; nil if the cluster has none.
func fetch(ctx context.Context, client kubernetes.Interface) (*corev1.ConfigMap, []Debt, error) {
	object, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, SharedName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var debts []Debt
	if text := object.Data[sharedKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &debts); err != nil {
			return nil, nil, fmt.Errorf("ConfigMap %s/%s: %w", metav1.NamespaceSystem, SharedName, err)
		}
	}
	return object, debts, nil
}

// ErrCannotTell means that the cluster did not show its record.
var ErrCannotTell = errors.New("cannot tell which hosts other control-plane hosts have left out")

// Known returns the debts of the cluster with the changes of this host that it does not have yet. If the cluster does not
// answer, it returns those of this host and ErrCannotTell: other hosts may owe more.
func (f File) Known(ctx context.Context, client kubernetes.Interface) ([]Debt, error) {
	own, unsent, err := f.own()
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return own, err
	}
	object, debts, err := fetch(ctx, client)
	switch {
	case err != nil:
		return own, fmt.Errorf("%w: read ConfigMap %s/%s: %w", ErrCannotTell, metav1.NamespaceSystem, SharedName, err)
	case object == nil:
		return own, nil
	}
	return applied(debts, unsent), nil
}

func (f File) own() ([]Debt, []change, error) {
	own, err := f.Read()
	if err != nil {
		return nil, nil, err
	}
	unsent, err := f.unsent(own)
	return own, unsent, err
}

// Share sends the changes of this host to the cluster, and brings this host those of the other hosts. Changes of two hosts
// at the same time are both kept.
func (f File) Share(ctx context.Context, client kubernetes.Interface) error {
	own, unsent, err := f.own()
	if err != nil {
		return err
	}
	var now []Debt
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		now, err = share(ctx, client, own, unsent)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the record of owed hosts into the cluster: %w", err)
	}
	if err := f.write(own, now); err != nil {
		return err
	}
	return f.writeUnsent(nil)
}

// share returns the debts of the cluster after the changes. It returns a conflict if another host has changed them now.
func share(ctx context.Context, client kubernetes.Interface, own []Debt, unsent []change) ([]Debt, error) {
	object, debts, err := fetch(ctx, client)
	if err != nil {
		return nil, err
	}
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	if object == nil {
		if len(own) == 0 {
			return nil, nil
		}
		object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: SharedName, Namespace: metav1.NamespaceSystem}}
		if object.Data, err = dataOf(own); err != nil {
			return nil, err
		}
		_, err = maps.Create(ctx, object, kube.CreateOptions())
		if apierrors.IsAlreadyExists(err) {
			err = apierrors.NewConflict(corev1.Resource("configmaps"), SharedName, err)
		}
		return own, err
	}
	now := applied(debts, unsent)
	if equal(debts, now) {
		return now, nil
	}
	if object.Data, err = dataOf(now); err != nil {
		return nil, err
	}
	_, err = maps.Update(ctx, object, metav1.UpdateOptions{FieldManager: manifests.FieldManager}) // with its resourceVersion
	return now, err
}

// dataOf returns the content of the ConfigMap. Too many debts have short reasons: the host's log has the whole one.
func dataOf(debts []Debt) (map[string]string, error) {
	text, err := json.Marshal(debts)
	if err == nil && len(text) > maxShared {
		brief := make([]Debt, len(debts))
		for i, d := range debts {
			if runes := []rune(d.Why); len(runes) > minWhy {
				d.Why = string(runes[:minWhy]) + "…"
			}
			brief[i] = d
		}
		text, err = json.Marshal(brief)
	}
	return map[string]string{sharedKey: string(text)}, err
}

// answerLimit is the time that the API server has for Exchange. Without an answer, the next command sends the changes.
const answerLimit = 10 * time.Second

// Exchange is Share with the cluster of this host, also at the end of a command that was cancelled. Without a cluster it
// does nothing.
func (f File) Exchange(ctx context.Context, m host.Machine) error {
	client, err := kube.Client(m, kube.AdminConf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.ShareSoon(ctx, client)
}

// ShareSoon is Share within a short time, also after the end of ctx.
func (f File) ShareSoon(ctx context.Context, client kubernetes.Interface) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
	defer cancel()
	return f.Share(limited, client)
}
