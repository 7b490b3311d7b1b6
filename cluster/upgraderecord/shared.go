package upgraderecord

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// SharedName is the Secret in kube-system with the copy of the record. With it another control-plane host continues the
// upgrade, or rolls it back, if the host that began it is lost.
const SharedName = "airgap-upgrade"

// Keys of the Secret.
const (
	recordKey   = "record"
	leaderKey   = "leader"
	baselineKey = "baseline" // compressed
)

const (
	maxShared   = 900 << 10 // bytes of the compressed baseline: a Secret has at most 1 MiB
	maxBaseline = 1 << 30   // as in package verify/result
)

// shared is the copy of the record in the cluster.
type shared struct {
	Record   Record
	Leader   string // name of the host that runs the upgrade
	baseline []byte // compressed; nil if it is too large
}

// directory has the record and the baseline of this host.
type directory string

func (d directory) record() (Record, error) {
	return host.ReadJSON[Record](d.path(UpgradeRecordFile))
}

func (d directory) path(file string) string { return filepath.Join(string(d), filepath.Base(file)) }

// fetchShared returns nil if no upgrade has changed a host of this cluster.
func fetchShared(ctx context.Context, client kubernetes.Interface) (*shared, error) {
	s, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.Secret, error) {
		return client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, SharedName, metav1.GetOptions{})
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the upgrade in the cluster: %w", err)
	}
	is := &shared{Leader: string(s.Data[leaderKey]), baseline: s.Data[baselineKey]}
	if err := json.Unmarshal(s.Data[recordKey], &is.Record); err != nil {
		return nil, fmt.Errorf("read the record of the upgrade in Secret %s/%s: %w", metav1.NamespaceSystem, SharedName, err)
	}
	return is, nil
}

// ShareStep returns the step that copies the record and the baseline of this host into the cluster, with this host as
// the one that runs the upgrade. The baseline stays out if it is too large, and after the end of the upgrade.
func ShareStep(name, title, node string, client func() (kubernetes.Interface, error)) step.Step {
	return directory(site.UpgradeDir).shareStep(name, title, node, client)
}

func (d directory) shareStep(name, title, node string, client func() (kubernetes.Interface, error)) step.Step {
	return step.Step{
		Name: name, Title: title,
		Done: func(ctx context.Context) (bool, error) {
			c, err := client()
			if err != nil {
				return false, err
			}
			own, err := d.record()
			if err != nil {
				return false, err
			}
			is, err := fetchShared(ctx, c)
			return is != nil && is.Leader == node && is.Record.same(own), err
		},
		Run: func(ctx context.Context) error {
			c, err := client()
			if err != nil {
				return err
			}
			return d.share(ctx, c, node)
		},
	}
}

// share writes the Secret.
func (d directory) share(ctx context.Context, client kubernetes.Interface, node string) error {
	own, err := d.record()
	if err != nil {
		return err
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	data := map[string][]byte{recordKey: text, leaderKey: []byte(node)}
	if own.Ended.IsZero() {
		baseline, err := os.ReadFile(d.path(UpgradeBaselineFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the state before the upgrade: %w", err)
		}
		if small := compressed(baseline); len(baseline) > 0 && len(small) <= maxShared {
			data[baselineKey] = small
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SharedName, Namespace: metav1.NamespaceSystem}, Data: data}
	_, err = kube.Retry(ctx, func(ctx context.Context) (any, error) {
		secrets := client.CoreV1().Secrets(metav1.NamespaceSystem)
		_, err := secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: manifests.FieldManager})
		if apierrors.IsNotFound(err) {
			_, err = secrets.Create(ctx, secret, kube.CreateOptions())
		}
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("write the record of the upgrade into the cluster: %w", err)
	}
	return nil
}

// UnshareStep returns the step that deletes the record in a restored cluster: the backup is of a time in an upgrade, and
// the hosts are no longer in that state.
func UnshareStep(client func() (kubernetes.Interface, error)) step.Step {
	return step.Step{
		Name: "upgrade-forgotten", Title: "Remove the record of an upgrade that the backup contains",
		Done: func(ctx context.Context) (bool, error) {
			c, err := client()
			if err != nil {
				return false, err
			}
			is, err := fetchShared(ctx, c)
			return is == nil, err
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"delete Secret " + metav1.NamespaceSystem + "/" + SharedName + ", if the backup contains it"}, nil
		},
		Run: func(ctx context.Context) error {
			c, err := client()
			if err != nil {
				return err
			}
			_, err = kube.Retry(ctx, func(ctx context.Context) (any, error) {
				err := c.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, SharedName, metav1.DeleteOptions{})
				if apierrors.IsNotFound(err) {
					err = nil
				}
				return nil, err
			})
			return err
		},
	}
}

// Adopt reads the record in the cluster, and writes it on this host if another host has led that upgrade. It returns the
// name of that host, "" if the record of this host stays. The backup from before the upgrade stays too: each prepared
// control-plane host has one.
func Adopt(ctx context.Context, client kubernetes.Interface, node string) (leader string, err error) {
	return directory(site.UpgradeDir).adopt(ctx, client, node)
}

func (d directory) adopt(ctx context.Context, client kubernetes.Interface, node string) (leader string, err error) {
	is, err := fetchShared(ctx, client)
	if err != nil || is == nil {
		return "", err
	}
	own, err := d.record()
	if err != nil || !own.yieldsTo(is, node) {
		return "", err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return "", err
	}
	if is.baseline != nil {
		text, err := uncompressed(is.baseline)
		if err != nil {
			return "", fmt.Errorf("read the state before the upgrade in Secret %s/%s: %w", metav1.NamespaceSystem, SharedName, err)
		}
		if err := host.WriteFile(d.path(UpgradeBaselineFile), text, 0o600); err != nil {
			return "", err
		}
	}
	return is.Leader, host.WriteJSON(d.path(UpgradeRecordFile), is.Record)
}

// Current is Read, and Adopt if the upgrade is in progress by the record of this host.
func Current(ctx context.Context, m host.Machine, node string) (Record, error) {
	own, err := Read()
	if err != nil || !own.InProgress() {
		return own, err
	}
	client, err := kube.Client(m, kube.AdminConf)
	if err != nil {
		return own, err
	}
	if _, err := Adopt(ctx, client, node); err != nil {
		return own, err
	}
	return Read()
}

// yieldsTo reports whether the record of another host is valid here: it is of an upgrade that this host was prepared
// for, or of one that is not finished. A rollback of this host is newer than any record in the cluster.
func (r Record) yieldsTo(is *shared, node string) bool {
	ofThis := r.To.ID == is.Record.To.ID && r.Began.Equal(is.Record.Began)
	if ofThis && (is.Leader == node || r.HasRollback()) || r.same(is.Record) {
		return false
	}
	return is.Record.InProgress() || r.To.ID == is.Record.To.ID && r.RolledBack.IsZero()
}

// same reports whether two records are of the same state.
func (r Record) same(as Record) bool {
	return r.To.ID == as.To.ID && r.From.ID == as.From.ID && r.Began.Equal(as.Began) && r.Changed == as.Changed && r.ChangedAt.Equal(as.ChangedAt) &&
		slices.Equal(r.Cordoned, as.Cordoned) && slices.Equal(r.Backups, as.Backups) && r.Ended.Equal(as.Ended) && r.RollbackBegan.Equal(as.RollbackBegan) && r.RolledBack.Equal(as.RolledBack)
}

func compressed(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer accepts everything
	}
	return b.Bytes()
}

func uncompressed(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err == nil && len(text) > maxBaseline {
		err = fmt.Errorf("more than %d bytes", maxBaseline)
	}
	return text, err
}
