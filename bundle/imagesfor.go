package bundle

import (
	"slices"
	"strings"
)

// Parts of the cluster in NeededBy, followed by a detail: "kubernetes v1.36.3". GPUList
// is another one.
const (
	Kubernetes = "kubernetes"
	PodNetwork = "network"
)

// ImagesFor returns the names of the images that the lock assigned to a part of the
// cluster, without images that appear only in objects of its project.
func (l Lock) ImagesFor(part string) []string {
	var names []string
	for _, i := range l.Images {
		if slices.ContainsFunc(i.NeededBy, func(by string) bool { return !strings.Contains(by, ": ") && strings.HasPrefix(by+" ", part+" ") }) {
			names = append(names, i.Name)
		}
	}
	return names
}
