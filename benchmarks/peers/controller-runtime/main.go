// The peer written with controller-runtime: `KUBECONFIG=... ./peer`; its client-side rate limits are off.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type TrioSpec struct {
	Value string `json:"value,omitempty"`
}

type Trio struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TrioSpec `json:"spec,omitempty"`
}

func (t *Trio) DeepCopyObject() runtime.Object {
	made := *t
	made.ObjectMeta = *t.ObjectMeta.DeepCopy()
	return &made
}

type TrioList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Trio `json:"items"`
}

func (l *TrioList) DeepCopyObject() runtime.Object {
	made := &TrioList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]Trio, len(l.Items))}
	for i := range l.Items {
		made.Items[i] = *(l.Items[i].DeepCopyObject().(*Trio))
	}
	return made
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	trio := &Trio{}
	if err := r.Get(ctx, req.NamespacedName, trio); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !trio.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	for number := 0; number < 3; number++ {
		name := client.ObjectKey{Namespace: req.Namespace, Name: fmt.Sprintf("%s-%d", req.Name, number)}
		found := &corev1.ConfigMap{}
		err := r.Get(ctx, name, found)
		switch {
		case apierrors.IsNotFound(err):
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
			made.Data = map[string]string{"value": trio.Spec.Value}
			if err := ctrl.SetControllerReference(trio, made, r.Scheme()); err != nil {
				return ctrl.Result{}, err
			}
			if err := r.Create(ctx, made); err != nil {
				return ctrl.Result{}, err
			}
		case err != nil:
			return ctrl.Result{}, err
		case found.Data["value"] != trio.Spec.Value:
			base := client.MergeFromWithOptions(found.DeepCopy(), client.MergeFromWithOptimisticLock{})
			found.Data = map[string]string{"value": trio.Spec.Value}
			if err := r.Patch(ctx, found, base); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	return ctrl.Result{}, nil
}

func main() {
	log.SetLogger(logr.Discard())
	group := schema.GroupVersion{Group: "bench.attractor.dev", Version: "v1"}
	scheme := runtime.NewScheme()
	check(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(group, &Trio{}, &TrioList{})
	metav1.AddToGroupVersion(scheme, group)
	config := ctrl.GetConfigOrDie()
	config.QPS, config.Burst = -1, -1
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	check(err)
	check(ctrl.NewControllerManagedBy(manager).For(&Trio{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).Complete(&reconciler{manager.GetClient()}))
	ctx := ctrl.SetupSignalHandler()
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("ready")
		}
	}()
	check(manager.Start(ctx))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
