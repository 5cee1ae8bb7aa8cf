// Prints the internal Go types whose values kube-apiserver shows in refusals, as JSON: for each struct its fields in
// Go's order, each with the key that encoding/json writes, the field of the published type that it comes from, and its
// type. Run it in a module that requires k8s.io/kubernetes; see internal_types in apiserver/kinds/builtin for the reader.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/flowcontrol"
	"k8s.io/kubernetes/pkg/apis/networking"
	dra "k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/apis/storage"
)

type pair struct{ internal, published reflect.Type }

var roots = []pair{
	{reflect.TypeOf(core.PodTemplateSpec{}), reflect.TypeOf(corev1.PodTemplateSpec{})},
	{reflect.TypeOf(core.PersistentVolumeClaimSpec{}), reflect.TypeOf(corev1.PersistentVolumeClaimSpec{})},
	{reflect.TypeOf(core.PersistentVolumeSource{}), reflect.TypeOf(corev1.PersistentVolumeSource{})},
	{reflect.TypeOf(core.VolumeNodeAffinity{}), reflect.TypeOf(corev1.VolumeNodeAffinity{})},
	{reflect.TypeOf(core.EventSource{}), reflect.TypeOf(corev1.EventSource{})},
	{reflect.TypeOf(core.ServicePort{}), reflect.TypeOf(corev1.ServicePort{})},
	{reflect.TypeOf(batch.PodFailurePolicy{}), reflect.TypeOf(batchv1.PodFailurePolicy{})},
	{reflect.TypeOf(batch.SuccessPolicy{}), reflect.TypeOf(batchv1.SuccessPolicy{})},
	{reflect.TypeOf(apps.DeploymentStrategy{}), reflect.TypeOf(appsv1.DeploymentStrategy{})},
	{reflect.TypeOf(apps.DaemonSetUpdateStrategy{}), reflect.TypeOf(appsv1.DaemonSetUpdateStrategy{})},
	{reflect.TypeOf(apps.StatefulSetUpdateStrategy{}), reflect.TypeOf(appsv1.StatefulSetUpdateStrategy{})},
	{reflect.TypeOf(networking.IngressBackend{}), reflect.TypeOf(networkingv1.IngressBackend{})},
	{reflect.TypeOf(flowcontrol.FlowSchemaSpec{}), reflect.TypeOf(flowcontrolv1.FlowSchemaSpec{})},
	{reflect.TypeOf(flowcontrol.PriorityLevelConfigurationSpec{}), reflect.TypeOf(flowcontrolv1.PriorityLevelConfigurationSpec{})},
	{reflect.TypeOf(dra.ResourceClaimSpec{}), reflect.TypeOf(resourcev1.ResourceClaimSpec{})},
	{reflect.TypeOf(dra.ResourceClaimTemplateSpec{}), reflect.TypeOf(resourcev1.ResourceClaimTemplateSpec{})},
	{reflect.TypeOf(dra.AllocationResult{}), reflect.TypeOf(resourcev1.AllocationResult{})},
	{reflect.TypeOf(storage.CSINodeDriver{}), reflect.TypeOf(storagev1.CSINodeDriver{})},
	{reflect.TypeOf(storage.VolumeAttachmentSpec{}), reflect.TypeOf(storagev1.VolumeAttachmentSpec{})},
}

// Types that write themselves: a quantity and a time as text, a number or a text.
var leaves = map[reflect.Type]string{
	reflect.TypeOf(resource.Quantity{}):    "quantity",
	reflect.TypeOf(metav1.Time{}):          "time",
	reflect.TypeOf(intstr.IntOrString{}):   "intstr",
	reflect.TypeOf(metav1.FieldsV1{}):      "any",
	reflect.TypeOf(runtime.RawExtension{}): "any",
}

var out = map[string][][]any{}

func main() {
	for _, root := range roots {
		kind(root.internal, root.published)
	}
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(out); err != nil {
		panic(err)
	}
}

func kind(t, v reflect.Type) string {
	if leaf, ok := leaves[t]; ok {
		return leaf
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + kind(t.Elem(), elem(v))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "[]int"
		}
		return "[]" + kind(t.Elem(), elem(v))
	case reflect.Map:
		return "{}" + kind(t.Elem(), elem(v))
	case reflect.Struct:
		name := t.String()
		if _, seen := out[name]; !seen {
			out[name] = nil
			out[name] = fields(t, v)
		}
		return name
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Interface:
		return "any"
	default:
		return "int"
	}
}

func elem(v reflect.Type) reflect.Type {
	if v == nil || v.Kind() == reflect.Struct || v.Kind() == reflect.String {
		return v
	}
	return v.Elem()
}

func fields(t, v reflect.Type) [][]any {
	var found [][]any
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && tag == "" {
			found = append(found, fields(f.Type, v)...)
			continue
		}
		key := f.Name
		if tag != "" {
			key = tag
		}
		omitted := strings.Contains(f.Tag.Get("json"), "omitempty") || strings.Contains(f.Tag.Get("json"), "omitzero")
		source, published := "", reflect.Type(nil)
		if v != nil && v.Kind() == reflect.Struct {
			if pf, ok := v.FieldByName(f.Name); ok {
				source, _, _ = strings.Cut(pf.Tag.Get("json"), ",")
				published = pf.Type
			} else {
				fmt.Fprintln(os.Stderr, "no published field for", t, f.Name)
			}
		}
		if published != nil && published.Kind() == reflect.Pointer && f.Type.Kind() != reflect.Pointer {
			published = published.Elem()
		}
		if published != nil && published.Kind() != reflect.Pointer && f.Type.Kind() == reflect.Pointer {
			published = reflect.PointerTo(published)
		}
		row := []any{key, source, kind(f.Type, published)}
		if omitted {
			row = append(row, true)
		}
		found = append(found, row)
	}
	return found
}
