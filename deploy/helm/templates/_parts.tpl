{{/* What the servers and the job have in common. */}}
{{- define "assay.labels" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "assay.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "assay.podSecurity" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "assay.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Settings that name files, which are mounted for the servers alone: the job needs none of them. */}}
{{- define "assay.fileSettings" -}}
CREDENTIAL_CERTIFICATE PASS_CERTIFICATES EGRESS_CA_FILE WITNESS_POLICY
{{- end }}

{{/* A variable for each of these settings, given as text; whole numbers in all their digits. */}}
{{- define "assay.settings" -}}
{{- range $name, $value := . -}}
{{- if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ $value | int64 | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Stops an install that could not serve. Where a cluster answers, its secret is looked at too. */}}
{{- define "assay.preflight" -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.existingSecret -}}
{{- if $secret -}}
{{- $needed := list "DATABASE_URL" "MASTER_KEY" "ADMIN_API_KEY" -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- $needed = append $needed "REDIS_URL" -}}
{{- end -}}
{{/* Everybody reaches /metrics there, which is open without it. */}}
{{- if .Values.ingress.enabled -}}
{{- $needed = append $needed "METRICS_TOKEN" -}}
{{- end -}}
{{/* An empty variable counts as unset: without DATABASE_URL each server would have a database and log of its own. */}}
{{- range $needed -}}
{{- if not (get ($secret.data | default dict) . | b64dec | trim) -}}
{{- fail (printf "the secret %s has no %s" $.Values.existingSecret .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (hasPrefix "https:" .Values.settings.BASE_URL) (not .Values.ingress.tlsSecret) -}}
{{- fail "settings.BASE_URL is https, so ingress.tlsSecret must name its certificate" -}}
{{- end -}}
{{- end }}
