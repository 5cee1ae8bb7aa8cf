// The tests of an operator in Go, as anybody would write them: envtest, unchanged, finds its programs by KUBEBUILDER_ASSETS.
package probe

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 60*time.Second, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// A controller that copies each ConfigMap labelled "copy" into a Secret that it owns.
func TestAControllerRunsAndItsChildrenAreCollected(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	manager, err := ctrl.NewManager(config, ctrl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := manager.GetClient()
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(
		reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			var found corev1.ConfigMap
			if err := c.Get(ctx, request.NamespacedName, &found); err != nil || found.Labels["copy"] == "" {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name}, StringData: found.Data}
			if err := ctrl.SetControllerReference(&found, made, manager.GetScheme()); err != nil {
				return reconcile.Result{}, err
			}
			return reconcile.Result{}, client.IgnoreAlreadyExists(c.Create(ctx, made))
		}))
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _ = manager.Start(running) }()

	source := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"copy": "yes"}},
		Data:       map[string]string{"colour": "red"},
	}
	direct, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := direct.Create(running, source); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(source)
	eventually(t, "the Secret is there", func(ctx context.Context) (bool, error) {
		var made corev1.Secret
		err := direct.Get(ctx, key, &made)
		return err == nil && string(made.Data["colour"]) == "red", client.IgnoreNotFound(err)
	})
	if err := direct.Delete(running, source); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Secret goes with its owner, as in a cluster", func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, key, &corev1.Secret{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	user, err := environment.AddUser(envtest.User{Name: "nobody"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := client.New(user.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := limited.List(running, &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Fatalf("a user without rights may list Secrets: %v", err)
	}
}
