package bundle

import (
	"slices"
	"strings"
)

// Parts of the cluster in NeededBy, each with what it is behind it: "kubernetes v1.36.3". GPUList
// is one, too.
const (
	Kubernetes = "kubernetes"
	PodNetwork = "network"
)

// ImagesFor are the names of the images that a part of the cluster needs by itself, as the lock
// decided; what only objects of its project name is not among them.
func (l Lock) ImagesFor(part string) []string {
	var names []string
	for _, i := range l.Images {
		if slices.ContainsFunc(i.NeededBy, func(by string) bool { return !strings.Contains(by, ": ") && strings.HasPrefix(by+" ", part+" ") }) {
			names = append(names, i.Name)
		}
	}
	return names
}
