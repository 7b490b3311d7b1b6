package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"airgap.dev/airgap/internal/host"
)

// UpgradePath says why a cluster cannot go from one version of Kubernetes to
// another; nil: it can. An API server goes up by one minor at a time, and never down
// (Kubernetes: version skew policy, "Supported component upgrade order").
func UpgradePath(from, to string) error {
	have, err := version.ParseSemantic(from)
	if err != nil {
		return fmt.Errorf("read the cluster's version of Kubernetes %q: %w", from, err)
	}
	want, err := version.ParseSemantic(to)
	if err != nil {
		return fmt.Errorf("read the bundle's version of Kubernetes %q: %w", to, err)
	}
	switch {
	case want.LessThan(have):
		return &host.Failure{
			What: "upgrade Kubernetes " + from + " to " + to, Err: fmt.Errorf("%s is older, and Kubernetes cannot read the data of a later version", to),
			Next: "run airgap rollback to undo an upgrade; there is no other downgrade",
		}
	case want.Major() != have.Major() || want.Minor() > have.Minor()+1:
		return &host.Failure{
			What: "upgrade Kubernetes " + from + " to " + to, Err: fmt.Errorf("a cluster goes up one minor at a time: %d.%d comes next", have.Major(), have.Minor()+1),
			Next: fmt.Sprintf("build a bundle with kubernetes.version %d.%d, upgrade to that, and then with this one", have.Major(), have.Minor()+1),
		}
	}
	return nil
}
