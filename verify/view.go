package verify

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Names of the pod indexes.
const (
	byOwner = "owner" // UID of the controller
	byImage = "image" // image ids of the containers that run
)

// view is the cluster as the informers have it.
type view struct {
	nodes       corelisters.NodeLister
	pods        corelisters.PodLister
	podIndex    cache.Indexer
	daemonSets  appslisters.DaemonSetLister
	deployments appslisters.DeploymentLister
}

func newView(nodes, pods, daemonSets, deployments cache.Indexer) view {
	return view{
		nodes:       corelisters.NewNodeLister(nodes),
		pods:        corelisters.NewPodLister(pods),
		podIndex:    pods,
		daemonSets:  appslisters.NewDaemonSetLister(daemonSets),
		deployments: appslisters.NewDeploymentLister(deployments),
	}
}

func podIndexers() cache.Indexers {
	return cache.Indexers{byOwner: ownerOf, byImage: imagesOf}
}

func ownerOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	for _, owner := range pod.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return []string{string(owner.UID)}, nil
		}
	}
	return nil, nil
}

func imagesOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	var ids []string
	for _, status := range statuses(pod) {
		if status.State.Running != nil && status.ImageID != "" {
			ids = append(ids, status.ImageID)
		}
	}
	return ids, nil
}

// A lister over an in-memory index returns no errors; the methods below say
// so once for all rules.

func (v view) allNodes() []*corev1.Node {
	list, _ := v.nodes.List(labels.Everything())
	return list
}

func (v view) podsIn(namespace string) []*corev1.Pod {
	list, _ := v.pods.Pods(namespace).List(labels.Everything())
	return list
}

func (v view) daemonSetsIn(namespace string) []*appsv1.DaemonSet {
	list, _ := v.daemonSets.DaemonSets(namespace).List(labels.Everything())
	return list
}

func (v view) deploymentsIn(namespace string) []*appsv1.Deployment {
	list, _ := v.deployments.Deployments(namespace).List(labels.Everything())
	return list
}

func (v view) podsBy(index, value string) []*corev1.Pod {
	found, _ := v.podIndex.ByIndex(index, value)
	list := make([]*corev1.Pod, 0, len(found))
	for _, obj := range found {
		if pod, ok := obj.(*corev1.Pod); ok {
			list = append(list, pod)
		}
	}
	return list
}

// statuses are those of all containers: init, ordinary and ephemeral ones.
func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	s := pod.Status
	all := make([]corev1.ContainerStatus, 0, len(s.InitContainerStatuses)+len(s.ContainerStatuses)+len(s.EphemeralContainerStatuses))
	all = append(all, s.InitContainerStatuses...)
	all = append(all, s.ContainerStatuses...)
	return append(all, s.EphemeralContainerStatuses...)
}
