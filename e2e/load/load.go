// Package load fills an etcd with a large healthy cluster: nodes with their leases, a
// control plane, system workloads, and applications of two containers each. The objects
// have all fields that kubelets and controllers write.
//
// Its inputs are the numbers of nodes and pods, and the images that run. It writes
// objects into etcd, encoded as kube-apiserver stores them. It does not use the API,
// which takes two requests a pod, one for its status: half an hour for 100,000 pods on
// two cores. The API server and its clients see the same objects in both cases.
package load

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	batch   = 100 // objects a transaction; etcd takes 128 operations and 1.5 MiB
	writers = 4
)

// Cluster is the size and the content of a cluster.
type Cluster struct {
	Nodes  int
	Pods   int      // of all kinds, including system workloads; at least four a node plus twenty
	Images []string // REPOSITORY@DIGEST, as in the status of a container; pods share them
}

// Written has the totals of Fill.
type Written struct {
	Objects int
	Pods    int
	Bytes   int64 // of the pods, as stored in etcd
}

// Fill writes the cluster into the etcd at that URL. It replaces objects of the same
// names.
func (c Cluster) Fill(ctx context.Context, etcd string) (Written, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, Logger: zap.NewNop()})
	if err != nil {
		return Written{}, err
	}
	defer client.Close()
	var w Written
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	puts := make([]clientv3.Op, 0, batch)
	flush := func() {
		full := puts
		puts = make([]clientv3.Op, 0, batch)
		group.Go(func() error {
			_, err := client.Txn(ctx).Then(full...).Commit()
			return err
		})
	}
	for key, object := range c.objects() {
		value, err := stored(object)
		if err != nil {
			return w, fmt.Errorf("encode %s: %w", key, err)
		}
		w.count(object, len(value))
		if puts = append(puts, clientv3.OpPut(prefix+key, string(value))); len(puts) == batch {
			flush()
		}
		if ctx.Err() != nil {
			break
		}
	}
	flush()
	if err := group.Wait(); err != nil {
		return w, fmt.Errorf("write the cluster into etcd: %w", err)
	}
	return w, nil
}

// prefix is the default of kube-apiserver's --etcd-prefix.
const prefix = "/registry/"

// stored returns the object as the API server stores it: protobuf in an envelope with
// its API version and kind.
func stored(object runtime.Object) ([]byte, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), object)
}
