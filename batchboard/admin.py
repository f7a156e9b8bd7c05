"""The admin: people and limits. Batches, items and answers are moved by verbs alone and have no
place here; in particular no page of the admin shows or exports a result."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from batchboard.models import User

admin.site.register(User, UserAdmin)
