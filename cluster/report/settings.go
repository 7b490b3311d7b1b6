package report

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/verify/nodereport"
)

// Settings has the components that the unit on this host checks. install and join
// write it, so that the unit does not depend on bundles and their signatures.
type Settings struct {
	Node string `json:"node"`
	// APIServer is the load balancer's HOST:PORT: on a control-plane host the
	// kubelet uses the local API server, and its failure would delay the report about it.
	APIServer  string                `json:"apiServer"`
	Address    string                `json:"address,omitempty"`   // the node's; "" in a file of an older airgap
	Firewall   *settings.Firewall    `json:"firewall,omitempty"`  // nil: the site manages it
	NextBoot   *BootSettings         `json:"nextBoot,omitempty"`  // nil in a file of an older airgap
	Etcd       bool                  `json:"etcd"`                // a member of it runs here
	EtcdTimes  *nodereport.EtcdTimes `json:"etcdTimes,omitempty"` // of all members; nil in a file of an older airgap
	Units      []string              `json:"units"`
	Pinned     []string              `json:"pinned"` // images
	Locked     []nevra.NEVRA         `json:"locked"` // packages
	Registries []nodereport.Upstream `json:"registries"`
	Own        *nodereport.Upstream  `json:"own,omitempty"` // the registry of this host
	GPU        *GPUSettings          `json:"gpu,omitempty"` // on a node with the role gpu
}

// Reported retries while an API server has just started, for example after an upgrade of the
// kubelet: it refuses requests until it has read the roles.
func Reported(ctx context.Context, client dynamic.Interface, node string) (report *nodereport.NodeReport, err error) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		report, err = nodereport.Read(ctx, client, node)
		return !apierrors.IsForbidden(err), nil
	})
	return report, err
}
