package report

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/verify/nodereport"
)

// Settings are what the unit on this host has to look at. install and join
// write them, so that it need know nothing of bundles and their signatures.
type Settings struct {
	Node string `json:"node"`
	// APIServer is the balancer's, as HOST:PORT: on a control-plane host the
	// kubelet asks its own API server, whose failure would hold back the report of it.
	APIServer  string                `json:"apiServer"`
	Etcd       bool                  `json:"etcd"` // a member of it runs here
	Units      []string              `json:"units"`
	Pinned     []string              `json:"pinned"` // images
	Locked     []nevra.NEVRA         `json:"locked"` // packages
	Registries []nodereport.Upstream `json:"registries"`
	Own        *nodereport.Upstream  `json:"own,omitempty"` // the registry of this host
	GPU        *GPUSettings          `json:"gpu,omitempty"` // on a node with the role gpu
}

// Reported is patient with an API server that has just started, as an upgraded kubelet
// starts them: until it knows who may read what it says no.
func Reported(ctx context.Context, client dynamic.Interface, node string) (report *nodereport.NodeReport, err error) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		report, err = nodereport.Read(ctx, client, node)
		return !apierrors.IsForbidden(err), nil
	})
	return report, err
}
