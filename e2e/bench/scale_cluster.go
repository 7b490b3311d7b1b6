package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/e2e/apiserver"
	"airgap.dev/airgap/e2e/load"
)

// podsPerNode is the average of all clusters.
const podsPerNode = 20

// populated is a running API server with a cluster, and the registry with the images of
// the cluster.
type populated struct {
	dir, pki   string
	etcd       *apiserver.Etcd
	server     *apiserver.Server
	registry   *server
	kubeconfig string // of the user apiserver.Audited
	written    load.Written
	loading    time.Duration // from the first object until the API server lists all
}

// populate creates a cluster with so many pods. After an error it stops all processes.
func (b *bench) populate(ctx context.Context, pods int) (_ *populated, err error) {
	p := &populated{dir: filepath.Join(b.Work, "scale"), pki: filepath.Join(b.Work, "pki")}
	defer func() {
		if err != nil {
			p.end()
		}
	}()
	transport, err := selfSigned(ctx, p.pki)
	if err != nil {
		return nil, err
	}
	if p.registry, err = b.serve(ctx, transport, b.ours(), p.pki); err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(p.dir), os.MkdirAll(p.dir, 0o700)); err != nil {
		return nil, err
	}
	images, err := b.digests()
	if err != nil {
		return nil, err
	}
	return p, p.start(ctx, filepath.Join(b.Cache, "bin"), load.Cluster{Nodes: pods / podsPerNode, Pods: pods, Images: images})
}

func (p *populated) start(ctx context.Context, bin string, c load.Cluster) (err error) {
	if p.etcd, err = apiserver.StartEtcd(ctx, bin, p.dir); err != nil {
		return err
	}
	began := time.Now()
	if p.written, err = c.Fill(ctx, p.etcd.URL); err != nil {
		return err
	}
	if p.server, err = apiserver.Start(ctx, bin, p.dir, p.etcd); err != nil {
		return err
	}
	if err := p.complete(ctx, c); err != nil {
		return err
	}
	p.loading = time.Since(began)
	p.kubeconfig, err = p.server.Kubeconfig(apiserver.Audited)
	return err
}

// complete checks that the API server lists all pods.
func (p *populated) complete(ctx context.Context, c load.Cluster) error {
	client, err := p.server.Client()
	if err != nil {
		return err
	}
	first, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	if n := first.RemainingItemCount; n == nil || *n+1 != int64(c.Pods) {
		return fmt.Errorf("list pods: the API server does not have all %d pods", c.Pods)
	}
	return nil
}

// end stops all processes and removes their data.
func (p *populated) end() {
	if p.server != nil {
		p.server.End()
	}
	if p.etcd != nil {
		p.etcd.End()
	}
	if p.registry != nil {
		p.registry.end()
	}
	_ = os.RemoveAll(p.dir) // in the work directory, which is removed later
}

// lockedImage is an image of the bundle.
type lockedImage struct {
	Name, Digest string
	Blobs        []struct{ Size int64 } // bytes; including the manifest
}

// locked returns the images in the bundle's index.
func (b *bench) locked() ([]lockedImage, error) {
	text, err := os.ReadFile(filepath.Join(b.ours(), "bank", "bundle.json"))
	if err != nil {
		return nil, err
	}
	var index struct {
		Lock struct{ Images []lockedImage }
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("read the bundle's images: %w", err)
	}
	return index.Lock.Images, nil
}

// digests returns the images of the bundle as REPOSITORY@DIGEST, as in a container's status.
func (b *bench) digests() ([]string, error) {
	locked, err := b.locked()
	var all []string
	for _, i := range locked {
		all = append(all, i.Name[:strings.LastIndex(i.Name, ":")]+"@"+i.Digest)
	}
	return all, err
}
