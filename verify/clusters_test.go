package verify

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzClusters creates a random cluster for each seed, with nodes, owners and pods in any
// combination of the states in the table. The test decides by the drawn values, not by the
// objects, which objects are broken. The findings must name exactly these objects, or their owners.
func FuzzClusters(f *testing.F) {
	for seed := range uint64(400) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		c := drawCluster(seed)
		named := map[string]string{}
		for _, finding := range judgeStates(seen(t, c.objects...)) {
			named[finding.Object] = finding.Rule + ": " + finding.Saw
		}
		for _, object := range slices.Sorted(maps.Keys(c.broken)) {
			if _, is := named[object]; !is {
				t.Errorf("no finding names %s: %s", object, c.broken[object])
			}
		}
		for _, object := range slices.Sorted(maps.Keys(named)) {
			if _, is := c.broken[object]; !is {
				t.Errorf("a finding names %s, which is not broken: %s; drawn: %s", object, named[object], c.drawn[object])
			}
		}
	})
}

// drawnCluster is a random cluster, with its broken objects and the drawn values of each pod.
type drawnCluster struct {
	*rand.Rand

	namespace     string
	objects       []metav1.Object
	pods          []drawnPod
	broken, drawn map[string]string
}

func drawCluster(seed uint64) *drawnCluster {
	c := &drawnCluster{Rand: rand.New(rand.NewPCG(seed, seed)), broken: map[string]string{}, drawn: map[string]string{}, objects: twoNodes()}
	c.namespace = c.one("shop", "kube-system")
	c.node()
	for i := range 1 + c.IntN(10) {
		c.pods = append(c.pods, c.pod(fmt.Sprintf("p%d", i)))
	}
	for _, p := range c.pods {
		name := "Pod " + c.namespace + "/" + p.name
		c.objects, c.drawn[name] = append(c.objects, p.object(c.namespace)), fmt.Sprintf("%+v", p)
		if p.broken(c.pods) {
			c.broken[name] = c.drawn[name]
		}
	}
	c.owners()
	c.job()
	c.space()
	return c
}

func (c *drawnCluster) one(of ...string) string { return of[c.IntN(len(of))] }

func (c *drawnCluster) node() {
	ready, kind := corev1.ConditionTrue, c.one("healthy", "silent", "cordoned", "pressed")
	if kind == "silent" {
		ready = corev1.ConditionUnknown
	}
	c.objects = append(c.objects, node("w2", ready, func(n *corev1.Node) {
		n.Spec.Unschedulable = kind == "cordoned"
		if kind == "pressed" {
			n.Status.Conditions[0].Status = corev1.ConditionTrue
		}
	}))
	if kind != "healthy" {
		c.broken["Node w2"] = kind
	}
}

// owners are complete or have a pod too few. The state of the DaemonSet depends on its pods.
func (c *drawnCluster) owners() {
	for i, name := range []string{"Deployment", "ReplicaSet", "StatefulSet"} {
		missingPods := int32(c.IntN(2))
		o := ownersOf(c.namespace, missingPods)[i]
		name += " " + c.namespace + "/" + o.GetName()
		switch c.one("kept", "kept", "deleted", "deleted long ago") {
		case "deleted":
			deletedAgo(o, 0)
		case "deleted long ago":
			deletedAgo(o, time.Hour, metav1.FinalizerDeleteDependents)
			c.late(name)
		default:
			if missingPods > 0 {
				c.broken[name] = "a pod too few"
			}
		}
		c.objects = append(c.objects, o)
	}
	agent := ownersOf(c.namespace, 0)[3].(*appsv1.DaemonSet)
	if c.IntN(2) == 0 {
		agent.Spec.Template.Spec = corev1.PodSpec{NodeName: "w1"}
	}
	c.objects = append(c.objects, agent)
	if !slices.ContainsFunc(c.pods, func(p drawnPod) bool {
		return p.of == workloadsOwn && p.nth == 3 && p.node == "w1" && p.scheduled() && p.deleted == "" && !p.over()
	}) {
		c.broken["DaemonSet "+c.namespace+"/agent"] = "no pod on w1"
	}
}

// late marks an object that was deleted long ago as broken, unless it waits for a pod within its
// grace period.
func (c *drawnCluster) late(name string) {
	if !slices.ContainsFunc(c.pods, func(p drawnPod) bool { return p.deleted == "in grace" }) {
		c.broken[name] = "deleted long ago"
	}
}

func (c *drawnCluster) job() {
	state, held := c.one("works", "failed", "complete", "suspended", "without a pod", "retries"), true
	c.objects = append(c.objects, job(c.namespace, "nightly", func(j *batchv1.Job) {
		switch state {
		case "failed":
			turned(batchv1.JobFailed, "DeadlineExceeded")(j)
		case "complete":
			turned(batchv1.JobComplete, "")(j)
		case "suspended":
			j.Status.Active, j.Spec.Suspend = 0, &held
		case "without a pod":
			j.Status.Active = 0
		case "retries":
			j.Status.Failed = 1
		}
	}))
	if state == "failed" || state == "without a pod" {
		c.broken["Job "+c.namespace+"/nightly"] = state
	}
}

func (c *drawnCluster) space() {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	switch c.one("kept", "deleted", "deleted long ago") {
	case "deleted":
		deletedAgo(space, 0)
	case "deleted long ago":
		deletedAgo(space, time.Hour)
		c.late("Namespace " + c.namespace)
	}
	c.objects = append(c.objects, space)
}
