package verify

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestMemoryServer: the server in memory answers a client like the real API server.
func TestMemoryServer(t *testing.T) {
	t.Parallel()
	network := newMemoryNet()
	t.Cleanup(network.serve(newMemoryServer()))
	config := &rest.Config{Host: "http://memory", Transport: network.transport(), ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	memory := &testCluster{t: t, client: client}
	memory.fill()
	if got, want := memory.transcript(), newTestCluster(t).transcript(); !slices.Equal(got, want) {
		t.Errorf("the server in memory answers\n%q\nthe real one answers\n%q", got, want)
	}
}

// transcript records the answers of a server to lists, watches and writes of pods.
func (b *testCluster) transcript() []string {
	api, ctx := b.client.CoreV1().Pods("kube-system"), b.t.Context()
	list, err := api.List(ctx, metav1.ListOptions{})
	b.must(err)
	var said []string
	for _, p := range list.Items {
		said = append(said, p.Name)
	}
	slices.Sort(said)
	said = append(said, b.streamed(list.ResourceVersion)...)
	seconds := int64(3)
	w, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &seconds})
	b.must(err)
	b.pod(pod("kube-system", "new", "cp1"))
	b.must(api.Delete(ctx, "new", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	last := list.ResourceVersion
	for event := range w.ResultChan() {
		p := event.Object.(*corev1.Pod)
		said = append(said, fmt.Sprint(event.Type, " ", p.Name, " newer ", number(p.ResourceVersion) > number(last)))
		last = p.ResourceVersion
	}
	_, err = api.Get(ctx, "new", metav1.GetOptions{})
	said = append(said, string(apierrors.ReasonForError(err)))
	_, err = api.Create(ctx, pod("kube-system", "etcd-cp1", "cp1", writable), metav1.CreateOptions{})
	said = append(said, string(apierrors.ReasonForError(err)))
	_, err = api.List(ctx, metav1.ListOptions{ResourceVersion: strconv.Itoa(number(last) + 1000)})
	said = slices.Compact(said) // the real server modifies a pod before it deletes it
	return append(said, fmt.Sprint("too large ", apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)))
}

// writable makes a pod that an API server accepts.
func writable(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Name: "main", Image: "x"}} }

// streamed records a watch that begins with a list, until the end of that list.
func (b *testCluster) streamed(version string) []string {
	yes := true
	w, err := b.client.CoreV1().Pods("kube-system").Watch(b.t.Context(), metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	b.must(err)
	defer w.Stop()
	var said []string
	for event := range w.ResultChan() {
		p := event.Object.(*corev1.Pod)
		if event.Type == watch.Bookmark {
			return append(slices.Sorted(slices.Values(said)), fmt.Sprint("end ", p.Annotations[metav1.InitialEventsAnnotationKey]))
		}
		said = append(said, string(event.Type)+" "+p.Name)
	}
	return append(said, "ended early")
}

func number(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}
