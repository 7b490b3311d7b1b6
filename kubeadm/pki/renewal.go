package pki

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Renewal makes the certificates of this host's part in the cluster anew: those
// that kubeadm made for the control plane, and the one that the kubelet made to
// serve with. What has them loaded is restarted, one program after the other.
//
// The old files are kept until every program answers with the new ones. A
// renewal that was interrupted goes on when it is run again: whether the files
// were all made stands beside the kept ones, and which programs are left is
// told by when they were started.
type Renewal struct {
	Machine host.Machine
	Say     func(format string, args ...any)
	Amend   func() error // changes the files that kubeadm made, before anybody loads them; nil for nothing
	// Turn waits until no other control-plane host restarts its programs, and keeps the others
	// waiting until release. It is asked before certificates of the control plane are renewed, also
	// where an interrupted renewal goes on. nil: the caller keeps the hosts apart.
	Turn func(ctx context.Context, resumed bool) (release func(), err error)
}

// Renewed is what a renewal did.
type Renewed struct {
	Files     []string `json:"files"`     // certificates that are other ones now, by path
	Restarted []string `json:"restarted"` // programs: "kube-apiserver"
	Resumed   bool     `json:"resumed"`   // it had been interrupted
}

// RenewalFile holds the files as they were, keys among them, until the end.
const RenewalFile = host.StateDir + "/renewal.json"

type renewal struct {
	Due   []string             `json:"due,omitempty"` // for which it was begun
	Files map[string]host.Kept `json:"files,omitempty"`
	Made  time.Time            `json:"made,omitzero"` // when the new ones were all there
}

// The kubelet's, for others who ask it; it makes them when there are none.
const (
	kubeletCertificate = runtime.KubeletDir + "/pki/kubelet.crt"
	kubeletKey         = runtime.KubeletDir + "/pki/kubelet.key"
)

// Run renews all certificates of kubeadm's when one that is due is among them,
// and the kubelet's own when it is. Nothing due changes nothing. A renewal that
// was interrupted is ended, and due is not asked: a file may be half-written.
func (r Renewal) Run(ctx context.Context, due func() ([]string, error)) (Renewed, error) {
	waiting := func() { r.Say("waits for kubeadm, which an interrupted run left at work") }
	if err := node.Await(ctx, r.Machine, waiting); err != nil {
		return Renewed{}, err
	}
	under, err := host.ReadJSON[renewal](r.Machine.Path(RenewalFile))
	if err != nil {
		return Renewed{}, err
	}
	done := Renewed{Files: []string{}, Resumed: under.Files != nil}
	if done.Resumed {
		r.Say("the renewal that was interrupted goes on")
	} else if under, err = r.prepare(due); err != nil || under.Files == nil {
		return done, err
	}
	release, err := r.turn(ctx, under, done.Resumed)
	if err != nil {
		return done, err
	}
	defer release()
	if err := host.WriteJSON(r.Machine.Path(RenewalFile), under); err != nil {
		return done, err
	}
	if under.Made.IsZero() {
		if under.Made, err = r.make(ctx, under); err != nil {
			return done, err
		}
	}
	if done.Restarted, err = r.load(ctx, under); err != nil {
		return done, err
	}
	if done.Files, err = renewedOf(r.Machine, under); err != nil {
		return done, err
	}
	return done, host.Remove(r.Machine.Path(RenewalFile))
}

// prepare reads what a renewal replaces; no Files are nothing to do.
func (r Renewal) prepare(due func() ([]string, error)) (under renewal, err error) {
	if under.Due, err = due(); err != nil {
		return under, err
	}
	under.Files, err = keepDue(r.Machine, under.Due)
	return under, err
}

// turn waits for this host's turn, where programs of the control plane will be restarted.
func (r Renewal) turn(ctx context.Context, under renewal, resumed bool) (release func(), err error) {
	if _, restarts := under.Files[kube.AdminConf]; !restarts || r.Turn == nil {
		return func() {}, nil
	}
	return r.Turn(ctx, resumed)
}

// keepDue reads the files that a renewal of due replaces.
func keepDue(m host.Machine, due []string) (map[string]host.Kept, error) {
	var names []string
	if slices.ContainsFunc(due, ofControlPlane) {
		var err error
		if names, err = controlPlaneFiles(m); err != nil {
			return nil, err
		}
	}
	if slices.Contains(due, kubeletCertificate) {
		names = append(names, kubeletCertificate, kubeletKey)
	}
	var files map[string]host.Kept
	for _, name := range names {
		k, err := m.Keep(name)
		if err != nil {
			return nil, fmt.Errorf("keep %s while it is renewed: %w", name, err)
		}
		if files == nil {
			files = map[string]host.Kept{}
		}
		files[name] = k
	}
	return files, nil
}

// ofControlPlane reports whether kubeadm renews the file: neither authorities
// nor what the kubelet looks after, by kubeadm certs renew --help.
func ofControlPlane(name string) bool {
	authority := slices.Contains([]string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key", "sa.pub"}, path.Base(name))
	return strings.HasPrefix(name, "/etc/kubernetes/") && !authority && name != kube.KubeletConf
}

func controlPlaneFiles(m host.Machine) ([]string, error) {
	var names []string
	for _, pattern := range []string{"/etc/kubernetes/*.conf", node.PKIDir + "/*.crt", node.PKIDir + "/*.key", node.PKIDir + "/etcd/*.crt", node.PKIDir + "/etcd/*.key"} {
		found, err := filepath.Glob(m.Path(pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if at := inside(m, name); ofControlPlane(at) {
				names = append(names, at)
			}
		}
	}
	return names, nil
}

// inside is the name without Machine.Root.
func inside(m host.Machine, name string) string {
	return path.Join("/", strings.TrimPrefix(name, m.Path("/")))
}

// make has the files made anew. What an interrupted run left half-written is put
// back first: kubeadm takes names and addresses from the old certificates.
func (r Renewal) make(ctx context.Context, under renewal) (time.Time, error) {
	m := r.Machine
	if err := putBackAll(m, under.Files); err != nil {
		return time.Time{}, err
	}
	if _, has := under.Files[kube.AdminConf]; has {
		r.Say("kubeadm makes the certificates of the control plane anew")
		if err := node.Kubeadm(ctx, m, nil, nil, "certs", "renew", "all"); err != nil {
			return time.Time{}, r.giveUp(under, err)
		}
		if err := allRenewed(m, under); err != nil {
			return time.Time{}, r.giveUp(under, err)
		}
	}
	if r.Amend != nil {
		if err := r.Amend(); err != nil {
			return time.Time{}, err
		}
	}
	if _, has := under.Files[kubeletKey]; has {
		if err := errors.Join(host.Remove(m.Path(kubeletCertificate)), host.Remove(m.Path(kubeletKey))); err != nil {
			return time.Time{}, err
		}
	}
	if err := m.Run(ctx, "sync", "--file-system", m.Path("/etc/kubernetes"), m.Path(runtime.KubeletDir)); err != nil {
		return time.Time{}, fmt.Errorf("make the new certificates durable: %w", err)
	}
	under.Made = time.Now()
	return under.Made, host.WriteJSON(m.Path(RenewalFile), under)
}

// giveUp leaves the host as it was, unless the run was interrupted: then the next
// one does.
func (r Renewal) giveUp(under renewal, why error) error {
	if errors.Is(why, context.Canceled) {
		return why
	}
	if err := putBackAll(r.Machine, under.Files); err != nil {
		return errors.Join(why, err)
	}
	return errors.Join(why, host.Remove(r.Machine.Path(RenewalFile)))
}

func putBackAll(m host.Machine, files map[string]host.Kept) error {
	for name, k := range files {
		if err := m.PutBack(name, k); err != nil {
			return fmt.Errorf("put %s back: %w", name, err)
		}
	}
	return nil
}

// allRenewed is an error when one of the due files is as it was: kubeadm passes
// over certificates of an authority whose key it does not have.
func allRenewed(m host.Machine, under renewal) error {
	changed, err := renewedOf(m, under)
	if err != nil {
		return err
	}
	for _, name := range under.Due {
		if ofControlPlane(name) && !slices.Contains(changed, name) {
			return &host.Failure{What: "renew " + name, Err: errors.New("kubeadm has left it as it was"), Next: "is the authority's key in " + node.PKIDir + "? " + host.LogDir + "/kubeadm-certs.log has what kubeadm said"}
		}
	}
	return nil
}

// renewedOf are the certificates and kubeconfigs that are not as they were kept.
func renewedOf(m host.Machine, under renewal) ([]string, error) {
	var changed []string
	for name, k := range under.Files {
		now, err := os.ReadFile(m.Path(name))
		if err != nil {
			return nil, fmt.Errorf("read the new %s: %w", name, err)
		}
		if path.Ext(name) != ".key" && !bytes.Equal(now, k.Data) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// KubeletRotates reports whether the kubelet of this host renews its client's
// certificate itself, by rotateCertificates of its configuration.
func KubeletRotates(m host.Machine) (bool, error) {
	text, err := os.ReadFile(m.Path(runtime.KubeletConfig))
	if err != nil {
		return false, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	var config struct {
		RotateCertificates bool `json:"rotateCertificates"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return false, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	return config.RotateCertificates, nil
}
